/* flow.c - where values are live, where a thread may be stopped, and a home for each value. */
#include "assembler.h"
#include "ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct block {
    int first, last; /* instructions */
    int next[2];     /* blocks that may follow; -1: none */
    uint64_t *uses, *definitions, *live_in, *live_out;
} block;

typedef struct flow {
    ir_function *f;
    block *blocks;
    int block_count;
    int *block_of_label;
    uint64_t *sets;
} flow;

static void *zeroed(size_t count, size_t bytes) {
    void *memory = calloc(count ? count : 1, bytes);
    if (!memory) fprintf(stderr, "jit: no memory for the analysis of a function\n"), exit(1);
    return memory;
}

/* Blocks. */

static bool ends_block(const ir *i) {
    return i->op == IR_JUMP || i->op == IR_BRANCH || i->op == IR_FLOAT_BRANCH || i->op == IR_RETURN;
}

static void find_blocks(flow *w) {
    ir_function *f = w->f;
    w->blocks = zeroed(f->count, sizeof *w->blocks);
    w->block_of_label = zeroed((size_t)f->label_count, sizeof *w->block_of_label);
    for (int i = 0; i < (int)f->count; i++) {
        bool starts = i == 0 || f->code[i].op == IR_LABEL || ends_block(&f->code[i - 1]);
        if (starts) w->blocks[w->block_count++].first = i;
        w->blocks[w->block_count - 1].last = i;
        if (f->code[i].op == IR_LABEL) w->block_of_label[f->code[i].label] = w->block_count - 1;
    }
    for (int b = 0; b < w->block_count; b++) {
        const ir *last = &f->code[w->blocks[b].last];
        bool falls = last->op != IR_JUMP && last->op != IR_RETURN && b + 1 < w->block_count;
        w->blocks[b].next[0] = falls ? b + 1 : -1;
        w->blocks[b].next[1] = last->label >= 0 && ends_block(last) ? w->block_of_label[last->label] : -1;
    }
}

/* Liveness, backwards. */

static void add_use(void *context, int value, bool late) {
    block *b = context;
    (void)late;
    if (!set_has(b->definitions, value)) set_add(b->uses, value);
}

static void gather_uses(flow *w) {
    ir_function *f = w->f;
    uint64_t *sets = w->sets = zeroed((size_t)w->block_count * 4 * f->words, sizeof *sets);
    for (block *b = w->blocks; b < w->blocks + w->block_count; b++) {
        b->uses = sets, b->definitions = sets + f->words;
        b->live_in = sets + 2 * f->words, b->live_out = sets + 3 * f->words;
        sets += 4 * f->words;
        for (int i = b->first; i <= b->last; i++) {
            ir_each_use(f, &f->code[i], add_use, b);
            if (f->code[i].to >= 0) set_add(b->definitions, f->code[i].to);
        }
    }
}

static bool flow_through(const flow *w, block *b) {
    bool changed = false;
    for (uint32_t n = 0; n < w->f->words; n++) {
        uint64_t out = 0;
        for (int s = 0; s < 2; s++)
            if (b->next[s] >= 0) out |= w->blocks[b->next[s]].live_in[n];
        uint64_t in = b->uses[n] | (out & ~b->definitions[n]);
        changed |= in != b->live_in[n];
        b->live_out[n] = out, b->live_in[n] = in;
    }
    return changed;
}

static void remember_use(void *context, int value, bool late) {
    (void)late;
    set_add(context, value);
}

static void find_liveness(flow *w) {
    ir_function *f = w->f;
    f->words = (f->value_count + 63) / 64 + 1;
    gather_uses(w);
    for (bool changed = true; changed;) {
        changed = false;
        for (int b = w->block_count - 1; b >= 0; b--) changed |= flow_through(w, &w->blocks[b]);
    }
    f->live_after = zeroed((size_t)f->count * f->words, sizeof *f->live_after);
    f->live_entry = zeroed(f->words, sizeof *f->live_entry);
    uint64_t *live = zeroed(f->words, sizeof *live);
    for (const block *b = w->blocks; b < w->blocks + w->block_count; b++) {
        memcpy(live, b->live_out, f->words * sizeof *live);
        for (int i = b->last; i >= b->first; i--) {
            memcpy(f->live_after + (size_t)i * f->words, live, f->words * sizeof *live);
            if (f->code[i].to >= 0) set_remove(live, f->code[i].to);
            ir_each_use(f, &f->code[i], remember_use, live);
        }
    }
    memcpy(f->live_entry, w->blocks[0].live_in, f->words * sizeof *live);
    free(live);
}

/* Loops: from a label to the last jump back to it. */

static bool is_safe_point(ir_op op) {
    ir_effect effect = ir_effect_of(op);
    return effect == EFFECT_CALLS || effect == EFFECT_ALLOCATES || op == IR_POLL;
}

/* Whether control can go from block `from` to block `to`, within the loop, without a safe point on the way. */
static bool is_free_of_safe_points(const flow *w, int from, int to, int first, int last, bool *seen) {
    const block *b = &w->blocks[from];
    if (from < first || from > last || seen[from]) return false;
    seen[from] = true;
    for (int i = b->first; i <= b->last; i++)
        if (is_safe_point(w->f->code[i].op)) return false;
    if (from == to) return true;
    for (int s = 0; s < 2; s++)
        if (b->next[s] >= 0 && is_free_of_safe_points(w, b->next[s], to, first, last, seen)) return true;
    return false;
}

/* A thread in a loop that may run for long without a safe point can be stopped at any instruction of it. */
static void find_loops(flow *w) {
    ir_function *f = w->f;
    f->depth = zeroed(f->count, sizeof *f->depth);
    f->interruptible = zeroed(f->count, sizeof *f->interruptible);
    bool *seen = zeroed((size_t)w->block_count, sizeof *seen);
    for (int b = 0; b < w->block_count; b++) {
        int head = w->blocks[b].next[1];
        if (head < 0 || head > b) continue;
        bool already = false; /* a loop with several jumps back is one */
        for (int other = b + 1; other < w->block_count; other++) already |= w->blocks[other].next[1] == head;
        memset(seen, 0, (size_t)w->block_count * sizeof *seen);
        bool is_long = is_free_of_safe_points(w, head, b, head, b, seen);
        for (int i = w->blocks[head].first; i <= w->blocks[b].last; i++) {
            f->depth[i] += !already;
            f->interruptible[i] |= is_long;
        }
    }
    for (uint32_t i = 0; f->is_debug && i < f->count; i++) f->interruptible[i] = true;
    free(seen);
}

/* Intervals. */

static void extend(ir_value *v, int moment) {
    if (moment < v->start) v->start = moment;
    if (moment > v->end) v->end = moment;
}

typedef struct use_context {
    ir_function *f;
    int instruction;
} use_context;

static void extend_to_use(void *context, int value, bool late) {
    use_context *use = context;
    ir_value *v = &use->f->values[value];
    int depth = use->f->depth[use->instruction];
    extend(v, 2 * use->instruction + late);
    v->weight += (int64_t)1 << 3 * (depth > 8 ? 8 : depth);
}

static void find_intervals(flow *w) {
    ir_function *f = w->f;
    for (uint32_t v = 0; v < f->value_count; v++) {
        f->values[v].start = INT32_MAX, f->values[v].end = -1;
        if (set_has(f->live_entry, (int)v)) extend(&f->values[v], -1);
        if (!f->is_debug || !f->values[v].variable) continue;
        extend(&f->values[v], -1); /* debug code keeps variables to the end */
        extend(&f->values[v], 2 * (int)f->count);
    }
    for (const block *b = w->blocks; b < w->blocks + w->block_count; b++)
        for (uint32_t v = 0; v < f->value_count; v++) {
            if (set_has(b->live_in, (int)v)) extend(&f->values[v], 2 * b->first);
            if (set_has(b->live_out, (int)v)) extend(&f->values[v], 2 * b->last + 2);
        }
    for (int i = 0; i < (int)f->count; i++) {
        use_context use = {f, i};
        ir_each_use(f, &f->code[i], extend_to_use, &use);
        if (f->code[i].to >= 0) extend_to_use(&use, f->code[i].to, true);
    }
    /* A parameter that is not used still arrives in a register. */
    for (int v = 0; v < f->source->parameter_count; v++)
        if (f->values[v].end >= 0) extend(&f->values[v], -1);
}

/* There are never more arguments: PARAMETERS_MAX, and a receiver or the thread. */
static const int argument_registers[] = {RDI, RSI, RDX, RCX, R8, R9};

static bool is_home_register(int reg) { return reg != RAX && reg != RCX && reg != RDX; }

static void hint_arguments(ir_function *f, const ir *i) {
    int n = i->op == IR_CALL_NATIVE || i->op == IR_CALL_DELEGATE; /* the thread or the receiver comes first */
    for (int a = 0; a < i->argument_count; a++) {
        ir_value *v = &f->values[i->arguments[a]];
        if (v->class == CLASS_FLOAT) continue;
        if (is_home_register(argument_registers[n])) v->hint = argument_registers[n];
        n++;
    }
}

/* What a call overwrites, and what would save moves. */
static void find_hints(flow *w) {
    ir_function *f = w->f;
    for (int i = 0; i < (int)f->count; i++) {
        const ir *each = &f->code[i];
        ir_effect effect = ir_effect_of(each->op);
        if (effect == EFFECT_CALLS) hint_arguments(f, each);
        if (each->op == IR_MOVE) f->values[each->to].partner = each->a, f->values[each->a].partner = each->to;
        if (effect == EFFECT_NONE) continue;
        f->calls = true;
        for (uint32_t v = 0; v < f->value_count; v++)
            if (f->values[v].start < 2 * i + 1 && f->values[v].end >= 2 * i + 1) f->values[v].is_across = true;
    }
    int n = 0;
    for (int v = 0; v < f->source->parameter_count; v++) {
        if (f->values[v].class == CLASS_FLOAT) continue;
        if (is_home_register(argument_registers[n])) f->values[v].hint = argument_registers[n];
        n++;
    }
}

/* Homes: the weightiest value chooses first. */

typedef struct chooser {
    ir_function *f;
    int *order;
    int *next;                     /* value: the next one in the same register or word */
    int registers[16], floats[16]; /* the first value there; -1: none */
    int *words;                    /* of the stack, likewise */
    uint32_t word_room;
} chooser;

static const ir_function *sorted;

static int by_weight(const void *one, const void *other) {
    const ir_value *a = &sorted->values[*(const int *)one], *b = &sorted->values[*(const int *)other];
    double x = (double)a->weight / (a->end - a->start + 8), y = (double)b->weight / (b->end - b->start + 8);
    if (x != y) return x > y ? -1 : 1;
    return *(const int *)one - *(const int *)other;
}

static bool is_free(const chooser *c, int first, int value) {
    const ir_value *v = &c->f->values[value];
    for (int other = first; other >= 0; other = c->next[other])
        if (c->f->values[other].start <= v->end && v->start <= c->f->values[other].end) return false;
    return true;
}

static bool take(chooser *c, int value, home_place place, int number, int *first) {
    if (!is_free(c, *first, value)) return false;
    c->next[value] = *first;
    *first = value;
    c->f->values[value].home = (ir_home){place, number};
    return true;
}

static bool is_preserved(int reg) { return reg == RBX || reg == RBP || (reg >= R12 && reg <= R14); }

static bool take_register(chooser *c, int value, int reg) {
    ir_value *v = &c->f->values[value];
    bool allowed = is_preserved(reg) || (!v->is_across && !(c->f->is_debug && v->variable));
    if (!allowed || (reg == RBP && c->f->is_debug) || !take(c, value, HOME_REGISTER, reg, &c->registers[reg]))
        return false;
    if (is_preserved(reg)) c->f->preserved |= 1u << reg;
    return true;
}

static void choose_register(chooser *c, int value) {
    static const int order[] = {RDI, RSI, R8, R9, R10, R11, RBX, RBP, R12, R13, R14};
    ir_value *v = &c->f->values[value];
    if (v->hint >= 0 && take_register(c, value, v->hint)) return;
    if (v->partner >= 0 && c->f->values[v->partner].home.place == HOME_REGISTER &&
        take_register(c, value, c->f->values[v->partner].home.number))
        return;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (take_register(c, value, order[i])) return;
}

static void choose_vector(chooser *c, int value) {
    for (int reg = 8; reg < 14; reg++) /* below are arguments, above what the generator needs */
        if (take(c, value, HOME_VECTOR, reg, &c->floats[reg])) return;
}

static void choose_word(chooser *c, int value) {
    for (uint32_t word = 0;; word++) {
        if (word == c->f->stack_words) {
            c->words[word] = -1;
            c->f->stack_words++;
        }
        if (take(c, value, HOME_STACK, (int)word, &c->words[word])) return;
    }
}

static void choose_homes(ir_function *f) {
    chooser c = {.f = f};
    c.order = zeroed(f->value_count, sizeof *c.order);
    c.next = zeroed(f->value_count, sizeof *c.next);
    c.words = zeroed(f->value_count, sizeof *c.words);
    for (int i = 0; i < 16; i++) c.registers[i] = c.floats[i] = -1;
    for (uint32_t v = 0; v < f->value_count; v++) c.order[v] = (int)v;
    sorted = f;
    qsort(c.order, f->value_count, sizeof *c.order, by_weight);
    for (uint32_t n = 0; n < f->value_count; n++) {
        ir_value *v = &f->values[c.order[n]];
        if (v->end < 0) continue; /* it is never used */
        bool is_float = v->class == CLASS_FLOAT;
        if (!is_float)
            choose_register(&c, c.order[n]);
        else if (!v->is_across && !(f->is_debug && v->variable))
            choose_vector(&c, c.order[n]);
        if (v->home.place == HOME_NONE) choose_word(&c, c.order[n]);
    }
    free(c.order);
    free(c.next);
    free(c.words);
}

void flow_analyze(ir_function *f) {
    flow w = {.f = f};
    find_blocks(&w);
    find_liveness(&w);
    find_loops(&w);
    find_intervals(&w);
    find_hints(&w);
    choose_homes(f);
    free(w.blocks);
    free(w.block_of_label);
    free(w.sets);
}
