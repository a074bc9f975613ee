/* objects.c - making objects: strings, which are interned, and all others. */
#include "vm.h"

static text joined; /* where strings are put together */

static uint32_t hash_bytes(const char *bytes, size_t length) {
    uint64_t h = length * 0x9E3779B97F4A7C15u, word;
    for (; length >= 8; bytes += 8, length -= 8) {
        memcpy(&word, bytes, 8);
        h = (h ^ word) * 0xFF51AFD7ED558CCDu;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, bytes, length);
    h = (h ^ word) * 0xC4CEB9FE1A85EC53u;
    return (uint32_t)(h ^ h >> 32);
}

/* The place of this string in the intern table, or else the one where it would be added. */
static string **find_string(const char *bytes, size_t length, uint32_t hash) {
    string **removed = NULL;
    for (size_t i = hash;; i++) {
        string **place = &vm.strings[i & (vm.string_capacity - 1)], *s = *place;
        if (!s) return removed ? removed : place;
        if (s == REMOVED_STRING) {
            if (!removed) removed = place;
        } else if (s->hash == hash && s->length == length && memcmp(s->bytes, bytes, length) == 0) {
            return place;
        }
    }
}

static void grow_strings(void) {
    string **old = vm.strings;
    size_t before = vm.string_capacity;
    vm.string_capacity = vm.string_count * 2 >= before ? before * 2 : before;
    if (!before) vm.string_capacity = 256;
    vm.strings = reallocate(NULL, 0, vm.string_capacity * sizeof *vm.strings);
    memset(vm.strings, 0, vm.string_capacity * sizeof *vm.strings);
    for (size_t i = 0; i < before; i++)
        if (old[i] && old[i] != REMOVED_STRING) *find_string(old[i]->bytes, old[i]->length, old[i]->hash) = old[i];
    vm.string_used = vm.string_count;
    reallocate(old, before * sizeof *old, 0);
}

static void intern(string *s) {
    if ((vm.string_used + 1) * 4 > vm.string_capacity * 3) grow_strings();
    string **place = find_string(s->bytes, s->length, s->hash);
    vm.string_used += !*place;
    vm.string_count++;
    *place = s;
}

string *new_string(const char *bytes, size_t length) {
    uint32_t hash = hash_bytes(bytes, length);
    if (!vm.strings) grow_strings();
    string *s = *find_string(bytes, length, hash);
    if (s && s != REMOVED_STRING) return s;
    s = new_elements(KIND_STRING, length);
    s->hash = hash;
    memcpy(s->bytes, bytes, length);
    intern(s);
    return s;
}

string *concatenate(const string *a, const string *b) {
    joined.length = 0;
    text_add(&joined, a->bytes, a->length);
    text_add(&joined, b->bytes, b->length);
    return new_string(joined.bytes, joined.length);
}

function *new_function(string *name) {
    if (name) protect(name);
    function *f = new_object(KIND_FUNCTION);
    f->name = name;
    if (name) unprotect(1);
    return f;
}

native *new_native(const char *name, int arity, native_call call) {
    native *n = new_object(KIND_NATIVE);
    n->name = name;
    n->arity = arity;
    n->call = call;
    return n;
}

/* The caller fills in the upvalues. */
closure *new_closure(function *f) {
    closure *c = new_elements(KIND_CLOSURE, (size_t)f->upvalue_count);
    c->function = f;
    return c;
}

class *new_class(string *name) {
    class *c = new_object(KIND_CLASS);
    c->name = name;
    return c;
}

instance *new_instance(class *class) {
    instance *i = new_object(KIND_INSTANCE);
    i->class = class;
    return i;
}

bound *new_bound(value receiver, closure *method) {
    bound *b = new_object(KIND_BOUND);
    b->receiver = receiver;
    b->method = method;
    return b;
}

table *new_table(void) { return new_object(KIND_TABLE); }

array *new_array(size_t capacity) {
    array *a = new_object(KIND_ARRAY);
    if (capacity) a->values = values_new(capacity);
    return a;
}

void array_push(array *a, value v) {
    if (!a->values || a->count == a->values->length)
        a->values = values_resize(a->values, a->values ? a->values->length * 2 : 4);
    a->values->items[a->count++] = v;
}

value array_pop(array *a) {
    value v = a->values->items[--a->count];
    a->values->items[a->count] = ABSENT;
    return v;
}

coroutine *new_coroutine(void) {
    enum { FIRST_STACK = 32 };
    coroutine *co = new_object(KIND_COROUTINE);
    co->stack = co->top = reallocate(NULL, 0, FIRST_STACK * sizeof(value));
    co->limit = co->stack + FIRST_STACK;
    return co;
}

/* What points into the stack moves along. */
bool stack_grow(coroutine *co, int room) {
    size_t before = (size_t)(co->limit - co->stack), after = before;
    value *old = co->stack;
    while (after - (size_t)(co->top - old) < (size_t)room) after *= 2;
    if (after > STACK_MAX) return fail("the stack is full");
    co->stack = reallocate(old, before * sizeof(value), after * sizeof(value));
    co->limit = co->stack + after;
    co->top = co->stack + (co->top - old);
    for (int i = 0; i < co->frame_count; i++) co->frames[i].slots = co->stack + (co->frames[i].slots - old);
    for (upvalue *u = co->open; u; u = u->next) u->location = co->stack + (u->location - old);
    return true;
}

bool frames_grow(coroutine *co) {
    int before = co->frame_capacity, after = before ? before * 2 : 4;
    if (before >= FRAMES_MAX) return fail("more than %d calls within one another", before);
    co->frames = reallocate(co->frames, (size_t)before * sizeof(frame), (size_t)after * sizeof(frame));
    co->frame_capacity = after;
    return true;
}

upvalue *capture(coroutine *co, value *location) {
    upvalue **link = &co->open;
    while (*link && (*link)->location > location) link = &(*link)->next;
    if (*link && (*link)->location == location) return *link;
    upvalue *u = new_object(KIND_UPVALUE);
    u->location = location;
    u->closed = NIL;
    u->running = co;
    u->next = *link;
    *link = u;
    return u;
}

void close_upvalues(coroutine *co, const value *from) {
    while (co->open && co->open->location >= from) {
        upvalue *u = co->open;
        co->open = u->next;
        u->closed = *u->location;
        u->location = &u->closed;
        u->next = NULL;
        u->running = NULL;
    }
}
