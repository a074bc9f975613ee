/* rung5.c - moving: every variable that is used after an allocation is a root itself, and addresses are not hashed. */
#include "collector.h"

/* Objects. */

typedef gc_object object;

typedef struct string {
    object header;
    size_t length;
    uint64_t hash; /* 0: not yet known */
    char bytes[];
} string;

typedef struct array { /* what lists and tables consist of */
    object header;
    size_t length;
    value items[];
} array;

typedef struct list {
    object header;
    size_t count;
    array *items; /* with room for more */
    /* What it is hashed by as a key; 0: not yet known. */
    uint64_t identity;
} list;

typedef struct table {
    object header;
    size_t count;   /* of keys */
    size_t used;    /* of entries, removed ones included */
    array *entries; /* keys and values by turns; their number is a power of two */
    uint64_t identity;
} table;

typedef struct cell { /* a local variable that closures refer to */
    object header;
    value value;
} cell;

typedef struct closure {
    object header;
    size_t length;
    uint64_t identity;
    const function *code;
    cell *cells[];
} closure;

typedef struct builtin {
    object header;
    const char *name;
    int arity; /* -1: any */
    value (*call)(value *arguments, int count);
} builtin;

static const gc_type string_type = GC_TYPE_ARRAY_LEAF(string, bytes);
static const gc_type array_type = GC_TYPE_ARRAY_VALUES(array, items);
static const gc_type list_type = GC_TYPE(list, items);
static const gc_type table_type = GC_TYPE(table, entries);
static const gc_type cell_type = GC_TYPE_VALUES(cell, value);
static const gc_type closure_type = GC_TYPE_ARRAY(closure, cells);
static const gc_type builtin_type = GC_TYPE_LEAF(builtin);

typedef const gc_type *kind;
#define KIND_STRING (&string_type)
#define KIND_LIST (&list_type)
#define KIND_TABLE (&table_type)
#define KIND_CLOSURE (&closure_type)
#define KIND_BUILTIN (&builtin_type)

static gc_thread *gc;

static bool is_kind(value v, kind kind) { return is_object(v) && ((object *)object_of(v))->type == kind; }
#include "language.h"

static void *checked(void *object) {
    if (!object) fail(0, "%s", gc_last_message());
    return object;
}

/* bytes: NULL: the caller fills the string. */
static string *new_string(const char *bytes, size_t length) {
    string *s = checked(gc_new_array(gc, &string_type, length));
    if (bytes) memcpy(s->bytes, bytes, length);
    return s;
}

static array *new_array(size_t length) { return checked(gc_new_array(gc, &array_type, length)); }

static list *new_list(size_t capacity) {
    list *l = checked(gc_new(gc, &list_type));
    GC_ROOTS(gc, l);
    array *items = new_array(capacity);
    gc_store(gc, &l->items, items);
    return l;
}

static table *new_table(void) {
    table *t = checked(gc_new(gc, &table_type));
    GC_ROOTS(gc, t);
    array *entries = new_array(16);
    gc_store(gc, &t->entries, entries);
    return t;
}

static cell *new_cell(value v) {
    GC_ROOTS_WITH(gc, GC_SLOT_VALUE, v);
    cell *c = checked(gc_new(gc, &cell_type));
    gc_store_value(gc, &c->value, v);
    return c;
}

static closure *new_closure(const function *code, const closure *outer, const value *slots) {
    size_t length = (size_t)code->capture_count;
    GC_ROOTS(gc, outer);
    closure *c = checked(gc_new_array(gc, &closure_type, length));
    c->code = code;
    for (size_t i = 0; i < length; i++) {
        const capture *from = &code->captures[i];
        gc_store(gc, &c->cells[i], from->local ? object_of(slots[from->local->slot]) : outer->cells[from->upvalue]);
    }
    return c;
}

/* Strings. */

static string *concatenate(const string *a, const string *b) {
    GC_ROOTS(gc, a, b);
    string *s = new_string(NULL, a->length + b->length);
    memcpy(s->bytes, a->bytes, a->length);
    memcpy(s->bytes + a->length, b->bytes, b->length);
    return s;
}

static string *substring(const string *s, size_t start, size_t length) {
#ifdef FORGET_ADDRESS /* a mistake to plant: docs/porting.md */
    return new_string(s->bytes + start, length);
#endif
    GC_ROOTS(gc, s);
    string *part = new_string(NULL, length);
    memcpy(part->bytes, s->bytes + start, length);
    return part;
}

/* Lists. */

static void list_push(list *l, value v) {
    GC_ROOTS(gc, l);
    GC_ROOTS_WITH(gc, GC_SLOT_VALUE, v);
    if (l->count == l->items->length) {
        array *items = new_array(l->count * 2 + 4);
        for (size_t i = 0; i < l->count; i++) gc_store_value(gc, &items->items[i], l->items->items[i]);
        gc_store(gc, &l->items, items);
    }
    gc_store_value(gc, &l->items->items[l->count++], v);
}

static value list_pop(list *l) {
    value *last = &l->items->items[--l->count], v = *last;
    *last = NIL;
    return v;
}

static value list_shift(list *l) {
    value *items = l->items->items, v = items[0];
    l->count--;
    for (size_t i = 0; i < l->count; i++) gc_store_value(gc, &items[i], items[i + 1]);
    items[l->count] = NIL;
    return v;
}

/* Tables. */

static uint64_t hash_by_identity(uint64_t *identity) {
    static uint64_t last;
    if (!*identity) *identity = ++last;
    return mix(*identity);
}

static uint64_t hash_of(value v) {
    if (is_kind(v, KIND_LIST)) return hash_by_identity(&list_of(v)->identity);
    if (is_kind(v, KIND_TABLE)) return hash_by_identity(&table_of(v)->identity);
    if (is_kind(v, KIND_CLOSURE)) return hash_by_identity(&((closure *)object_of(v))->identity);
    if (!is_kind(v, KIND_STRING)) return mix(v);
    string *s = string_of(v);
    if (!s->hash) s->hash = hash_bytes(s->bytes, s->length);
    return s->hash;
}

/* The entry of the key, or else the one where it would go. */
static value *find(array *entries, value key) {
    size_t mask = entries->length / 2 - 1;
    value *removed = NULL;
    for (size_t i = hash_of(key) & mask;; i = (i + 1) & mask) {
        value *entry = &entries->items[2 * i];
        if (entry[0] == NIL) return removed ? removed : entry;
        if (entry[0] == DELETED)
            removed = removed ? removed : entry;
        else if (is_equal(entry[0], key))
            return entry;
    }
}

/* New entries, without the removed ones. */
static void table_grow(table *t) {
    array *old = t->entries;
    GC_ROOTS(gc, t, old);
    array *entries = new_array(t->count * 4 >= old->length ? old->length * 2 : old->length);
    for (size_t i = 0; i < old->length; i += 2) {
        if (!is_live(&old->items[i])) continue;
        value *entry = find(entries, old->items[i]);
        gc_store_value(gc, &entry[0], old->items[i]);
        gc_store_value(gc, &entry[1], old->items[i + 1]);
    }
    gc_store(gc, &t->entries, entries);
    t->used = t->count;
}

static value table_get(const table *t, value key) {
    const value *entry = find(t->entries, key);
    return is_live(entry) ? entry[1] : NIL;
}

static void table_set(table *t, value key, value v) {
    GC_ROOTS(gc, t);
    GC_ROOTS_WITH(gc, GC_SLOT_VALUE, key, v);
    if ((t->used + 1) * 8 > t->entries->length * 3) table_grow(t);
    value *entry = find(t->entries, key);
    if (!is_live(entry)) {
        t->used += entry[0] == NIL;
        t->count++;
        gc_store_value(gc, &entry[0], key);
    }
#ifndef FORGET_BARRIER /* a mistake to plant: docs/porting.md */
    gc_store_value(gc, &entry[1], v);
#else
    entry[1] = v;
#endif
}

static void table_remove(table *t, value key) {
    value *entry = find(t->entries, key);
    if (!is_live(entry)) return;
    entry[0] = DELETED;
    entry[1] = NIL;
    t->count--;
}

/* Evaluation. */

typedef struct frame {
    closure *closure;
    value *slots;
    value result;
} frame;

static value eval(frame *f, const node *n);
static bool run(frame *f, const node *n);

static value get_index(int line, value a, value b) {
    if (is_kind(a, KIND_TABLE)) return table_get(table_of(a), b);
    if (is_kind(a, KIND_LIST)) return list_of(a)->items->items[want_index(line, b, list_of(a)->count)];
    if (is_kind(a, KIND_STRING)) return value_of(substring(string_of(a), want_index(line, b, string_of(a)->length), 1));
    fail(line, "a %s has no elements", kind_name(a));
}

static void set_index(int line, value a, value b, value v) {
    if (is_kind(a, KIND_TABLE)) {
        if (b == NIL) fail(line, "nil cannot be a key");
        table_set(table_of(a), b, v);
    } else if (is_kind(a, KIND_LIST)) {
        gc_store_value(gc, &list_of(a)->items->items[want_index(line, b, list_of(a)->count)], v);
    } else {
        fail(line, "a %s has no elements that could be set", kind_name(a));
    }
}

static value binary(frame *f, const node *n) {
    value a = eval(f, n->a);
    GC_ROOTS_WITH(gc, GC_SLOT_VALUE, a);
    value b = eval(f, n->b);
    GC_ROOTS_WITH(gc, GC_SLOT_VALUE, b);
    if (n->op == '=' || n->op == '!') return boolean(is_equal(a, b) == (n->op == '='));
    if (is_number(a) && is_number(b)) return arithmetic(n, number_of(a), number_of(b));
    if (n->op != '+' || !is_kind(a, KIND_STRING) || !is_kind(b, KIND_STRING))
        fail(n->line, "this operator does not take a %s and a %s", kind_name(a), kind_name(b));
    return value_of(concatenate(string_of(a), string_of(b)));
}

static value list_literal(frame *f, const node *n) {
    list *l = new_list((size_t)n->count);
#ifndef FORGET_ROOT /* a mistake to plant: docs/porting.md */
    GC_ROOTS(gc, l);
#endif
    for (const node *item = n->items; item; item = item->next) {
        value v = eval(f, item);
        GC_ROOTS_WITH(gc, GC_SLOT_VALUE, v);
        list_push(l, v);
    }
    return value_of(l);
}

static value table_literal(frame *f, const node *n) {
    table *t = new_table();
    GC_ROOTS(gc, t);
    for (const node *item = n->items; item; item = item->next->next) {
        value key = eval(f, item);
        GC_ROOTS_WITH(gc, GC_SLOT_VALUE, key);
        value v = eval(f, item->next);
        GC_ROOTS_WITH(gc, GC_SLOT_VALUE, v);
        set_index(n->line, value_of(t), key, v);
    }
    return value_of(t);
}

static void evaluate_arguments(frame *f, const node *n, value *to) {
    for (const node *item = n->items; item; item = item->next) *to++ = eval(f, item);
}

static value call_builtin(frame *caller, const node *n, const builtin *b) {
    value arguments[PARAMETERS_MAX] = {NIL};
    GC_ROOTS_ARRAY(gc, arguments, PARAMETERS_MAX, GC_SLOT_VALUE);
    if (b->arity >= 0 && n->count != b->arity) fail(n->line, "%s takes %d arguments", b->name, b->arity);
    evaluate_arguments(caller, n, arguments);
    return b->call(arguments, n->count);
}

static value call_closure(frame *caller, const node *n, closure *c) {
    const function *code = c->code;
    value slots[code->slot_count];
    frame f = {c, slots, NIL};
    memset(slots, 0, sizeof slots);
    GC_ROOTS_ARRAY(gc, slots, code->slot_count, GC_SLOT_VALUE);
    GC_ROOTS(gc, f.closure);
    if (n->count != code->parameter_count) fail(n->line, "the function takes %d arguments", code->parameter_count);
    if (++calls > CALLS_MAX) fail(n->line, "more than %d calls within one another", CALLS_MAX);
    evaluate_arguments(caller, n, slots);
    for (int i = 0; i < code->parameter_count; i++)
        if (code->parameters[i]->captured) slots[i] = value_of(new_cell(slots[i]));
    run(&f, code->body);
    calls--;
    return f.result;
}

static value call(frame *f, const node *n) {
    value callee = eval(f, n->a);
    if (is_kind(callee, KIND_CLOSURE)) return call_closure(f, n, object_of(callee));
    if (is_kind(callee, KIND_BUILTIN)) return call_builtin(f, n, object_of(callee));
    fail(n->line, "a %s is not a function", kind_name(callee));
}

/* Where a variable is at present. */
static value *place(frame *f, const node *n) {
    if (n->kind == NODE_GLOBAL) return &globals[n->index];
    if (n->kind == NODE_UPVALUE) return &f->closure->cells[n->index]->value;
    value *slot = &f->slots[n->variable->slot];
    return n->variable->captured ? &((cell *)object_of(*slot))->value : slot;
}

static value eval(frame *f, const node *n) {
    value a;
    switch (n->kind) {
    case NODE_CONSTANT:
        return n->constant;
    case NODE_LOCAL:
    case NODE_UPVALUE:
    case NODE_GLOBAL:
        return *place(f, n);
    case NODE_LIST:
        return list_literal(f, n);
    case NODE_TABLE:
        return table_literal(f, n);
    case NODE_FUNCTION:
        return value_of(new_closure(n->function, f->closure, f->slots));
    case NODE_CALL:
        return call(f, n);
    case NODE_INDEX: {
        a = eval(f, n->a);
        GC_ROOTS_WITH(gc, GC_SLOT_VALUE, a);
        value b = eval(f, n->b);
        return get_index(n->line, a, b);
    }
    case NODE_AND:
        a = eval(f, n->a);
        return is_true(a) ? eval(f, n->b) : a;
    case NODE_OR:
        a = eval(f, n->a);
        return is_true(a) ? a : eval(f, n->b);
    case NODE_NOT:
        return boolean(!is_true(eval(f, n->a)));
    case NODE_NEGATE:
        a = eval(f, n->a);
        if (!is_number(a)) fail(n->line, "a %s cannot be negated", kind_name(a));
        return number(-number_of(a));
    default:
        return binary(f, n);
    }
}

static void let(frame *f, const node *n) {
    const node *target = n->a;
    if (target->kind == NODE_LOCAL && target->variable->captured)
        f->slots[target->variable->slot] = value_of(new_cell(NIL));
    value v = eval(f, n->b);
    gc_store_value(gc, place(f, target), v);
}

static void assign(frame *f, const node *n) {
    const node *target = n->a;
    if (target->kind != NODE_INDEX) {
        value v = eval(f, n->b);
        gc_store_value(gc, place(f, target), v);
        return;
    }
    value a = eval(f, target->a);
    GC_ROOTS_WITH(gc, GC_SLOT_VALUE, a);
    value b = eval(f, target->b);
    GC_ROOTS_WITH(gc, GC_SLOT_VALUE, b);
    value v = eval(f, n->b);
    GC_ROOTS_WITH(gc, GC_SLOT_VALUE, v);
    set_index(n->line, a, b, v);
}

/* Runs a statement. Returns whether it returned from the function. */
static bool run(frame *f, const node *n) {
    switch (n->kind) {
    case NODE_LET:
        let(f, n);
        return false;
    case NODE_ASSIGN:
        assign(f, n);
        return false;
    case NODE_IF:
        if (is_true(eval(f, n->a))) return run(f, n->b);
        return n->c && run(f, n->c);
    case NODE_WHILE:
        while (is_true(eval(f, n->a)))
            if (run(f, n->b)) return true;
        return false;
    case NODE_RETURN:
        if (n->a) f->result = eval(f, n->a);
        return true;
    case NODE_BLOCK:
        for (const node *item = n->items; item; item = item->next)
            if (run(f, item)) return true;
        return false;
    default:
        eval(f, n->a);
        return false;
    }
}

/* Builtins. */

static value builtin_str(value *arguments, int count) {
    text t = {0};
    (void)count;
    show(&t, arguments[0]);
    value v = value_of(new_string(t.bytes, t.length));
    free(t.bytes);
    return v;
}

static value builtin_sub(value *arguments, int count) {
    const string *s = want("sub", arguments[0], KIND_STRING, "string");
    (void)count;
    size_t start = want_index(0, arguments[1], s->length + 1);
    size_t end = want_index(0, arguments[2], s->length + 1);
    return value_of(substring(s, start, end > start ? end - start : 0));
}

static value builtin_push(value *arguments, int count) {
    (void)count;
    list_push(want("push", arguments[0], KIND_LIST, "list"), arguments[1]);
    return arguments[0];
}

static value builtin_pop(value *arguments, int count) {
    list *l = want("pop", arguments[0], KIND_LIST, "list");
    (void)count;
    return l->count ? list_pop(l) : NIL;
}

static value builtin_shift(value *arguments, int count) {
    list *l = want("shift", arguments[0], KIND_LIST, "list");
    (void)count;
    return l->count ? list_shift(l) : NIL;
}

static value builtin_keys(value *arguments, int count) {
    const table *t = want("keys", arguments[0], KIND_TABLE, "table");
    GC_ROOTS(gc, t);
    list *l = new_list(t->count);
    (void)count;
    for (size_t i = 0; i < t->entries->length; i += 2)
        if (is_live(&t->entries->items[i])) list_push(l, t->entries->items[i]);
    return value_of(l);
}

static value builtin_remove(value *arguments, int count) {
    (void)count;
    table_remove(want("remove", arguments[0], KIND_TABLE, "table"), arguments[1]);
    return NIL;
}

static const builtin builtins[] = {
    {{KIND_BUILTIN}, "print", -1, builtin_print},  {{KIND_BUILTIN}, "len", 1, builtin_len},
    {{KIND_BUILTIN}, "str", 1, builtin_str},       {{KIND_BUILTIN}, "sub", 3, builtin_sub},
    {{KIND_BUILTIN}, "push", 2, builtin_push},     {{KIND_BUILTIN}, "pop", 1, builtin_pop},
    {{KIND_BUILTIN}, "shift", 1, builtin_shift},   {{KIND_BUILTIN}, "keys", 1, builtin_keys},
    {{KIND_BUILTIN}, "remove", 2, builtin_remove}, {{KIND_BUILTIN}, "floor", 1, builtin_floor},
};

/* Parses, then makes the literals. */
static void load(const arguments *a) {
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) define(builtins[i].name, value_of(&builtins[i]));
    define("n", number(a->n));
    program_parse(&the_program, read_file(a->path));
    for (int i = 0; i < the_program.global_count; i++) {
        const global *g = &the_program.globals[i];
        if (g->is_literal) globals[i] = value_of(new_string(g->text, g->length));
    }
}

int main(int argc, char **argv) {
    gc_stats stats;
    gc_heap *heap = gc_heap_create(NULL);
    gc = heap ? gc_thread_attach(heap) : NULL;
    if (!gc || gc_roots_add(heap, globals, GLOBALS_MAX, GC_SLOT_VALUE) != GC_OK) fail(0, "%s", gc_last_message());
    arguments a = read_arguments(argc, argv);
    load(&a);
    node start = {.kind = NODE_CALL};
    call_closure(NULL, &start, new_closure(the_program.main, NULL, NULL));
    gc_heap_stats(heap, &stats);
    if (a.stats)
        print_stats_line(stats.collections[0] + stats.collections[1] + stats.collections[2], stats.pause_max_ns);
    gc_heap_destroy(heap);
    return 0;
}
