/* collector.c - memory: marks what the machine can reach, and sweeps away the rest. */
#include "compile.h"

#include <stdlib.h>

enum { FIRST_COLLECTION = 1 << 20 };

/* How large objects are: the fixed part, and each of what follows it. */
static const struct {
    size_t bytes, element_bytes;
} sizes[] = {
    {offsetof(string, bytes) + 1, 1}, /* with room for the 0 */
    {sizeof(function), 0},
    {sizeof(native), 0},
    {sizeof(closure), sizeof(upvalue *)},
    {sizeof(upvalue), 0},
    {sizeof(class), 0},
    {sizeof(instance), 0},
    {sizeof(bound), 0},
    {sizeof(array), 0},
    {sizeof(table), 0},
    {sizeof(coroutine), 0},
};

static void *allocate(kind kind, size_t bytes) {
    if (vm.bytes > vm.bytes_next || vm.is_stressed) collect();
    object *o = reallocate(NULL, 0, bytes);
    memset(o, 0, bytes);
    o->kind = kind;
    o->next = vm.objects;
    vm.objects = o;
    return o;
}

void *new_object(kind kind) { return allocate(kind, sizes[kind].bytes); }

/* An object of a kind that has so many elements. */
void *new_elements(kind kind, size_t length) {
    closure *o = allocate(kind, sizes[kind].bytes + length * sizes[kind].element_bytes);
    o->length = length; /* as it is in every such kind */
    return o;
}

/* Marking. */

static void mark_object(void *reference) {
    object *o = reference;
    if (!o || o->is_marked) return;
    o->is_marked = true;
    if (vm.gray_count == vm.gray_capacity) {
        vm.gray_capacity = vm.gray_capacity ? vm.gray_capacity * 2 : 256;
        vm.gray = vm.allocator(vm.allocator_context, vm.gray, vm.gray_capacity * sizeof *vm.gray);
        if (!vm.gray) quit("out of memory");
    }
    vm.gray[vm.gray_count++] = o;
}

static void mark_values(const value *v, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (is_object(v[i])) mark_object(object_of(v[i]));
}

static void mark_buffer(const values *v) {
    if (v) mark_values(v->items, v->length);
}

static void mark_roots(void) {
    mark_object(vm.main);
    mark_object(vm.current);
    mark_object(vm.init);
    mark_values(vm.globals, (size_t)vm.global_count);
    for (int i = 0; i < vm.global_count; i++) mark_object(vm.global_names[i]);
    mark_values(vm.held, (size_t)vm.held_count);
    mark_values(&vm.error, 1);
    for (compiler *c = vm.compiler; c; c = c->outer) mark_object(c->function);
}

static void blacken_coroutine(coroutine *co) {
    mark_values(co->stack, (size_t)(co->top - co->stack));
    for (int i = 0; i < co->frame_count; i++) mark_object(co->frames[i].closure);
    for (upvalue *u = co->open; u; u = u->next) mark_object(u);
    mark_object(co->resumer);
}

static void blacken_function(function *f) {
    mark_object(f->name);
    mark_values(f->constants, (size_t)f->constant_count);
}

static void blacken_closure(closure *c) {
    mark_object(c->function);
    for (size_t i = 0; i < c->length; i++) mark_object(c->upvalues[i]);
}

static void blacken_upvalue(upvalue *u) {
    mark_values(&u->closed, 1);
    mark_object(u->running);
}

static void blacken_class(class *c) {
    mark_object(c->name);
    mark_object(c->base);
    mark_buffer(c->methods.pairs);
}

static void blacken_instance(instance *i) {
    mark_object(i->class);
    mark_buffer(i->fields.pairs);
}

static void blacken_bound(bound *b) {
    mark_values(&b->receiver, 1);
    mark_object(b->method);
}

static void blacken(object *o) {
    switch ((kind)o->kind) {
    case KIND_FUNCTION:
        blacken_function((function *)o);
        break;
    case KIND_CLOSURE:
        blacken_closure((closure *)o);
        break;
    case KIND_UPVALUE:
        blacken_upvalue((upvalue *)o);
        break;
    case KIND_CLASS:
        blacken_class((class *)o);
        break;
    case KIND_INSTANCE:
        blacken_instance((instance *)o);
        break;
    case KIND_BOUND:
        blacken_bound((bound *)o);
        break;
    case KIND_ARRAY:
        mark_buffer(((array *)o)->values);
        break;
    case KIND_TABLE:
        mark_buffer(((table *)o)->map.pairs);
        break;
    case KIND_COROUTINE:
        blacken_coroutine((coroutine *)o);
        break;
    default: /* strings and natives refer to nothing */
        break;
    }
}

/* Sweeping. */

static void free_coroutine(coroutine *co) {
    reallocate(co->stack, (size_t)(co->limit - co->stack) * sizeof(value), 0);
    reallocate(co->frames, (size_t)co->frame_capacity * sizeof(frame), 0);
}

static void free_function(function *f) {
    reallocate(f->code, (size_t)f->code_capacity, 0);
    reallocate(f->lines, (size_t)f->code_capacity * sizeof(int), 0);
    reallocate(f->constants, (size_t)f->constant_capacity * sizeof(value), 0);
}

/* What the object owns. */
static void free_parts(object *o) {
    switch ((kind)o->kind) {
    case KIND_FUNCTION:
        free_function((function *)o);
        break;
    case KIND_CLASS:
        values_free(&((class *)o)->methods.pairs);
        break;
    case KIND_INSTANCE:
        values_free(&((instance *)o)->fields.pairs);
        break;
    case KIND_ARRAY:
        values_free(&((array *)o)->values);
        break;
    case KIND_TABLE:
        values_free(&((table *)o)->map.pairs);
        break;
    case KIND_COROUTINE:
        free_coroutine((coroutine *)o);
        break;
    default:
        break;
    }
}

static void free_object(object *o) {
    size_t bytes = sizes[o->kind].bytes;
    if (sizes[o->kind].element_bytes) bytes += ((closure *)o)->length * sizes[o->kind].element_bytes;
    free_parts(o);
    reallocate(o, bytes, 0);
}

static void sweep(void) {
    object **link = &vm.objects;
    while (*link) {
        object *o = *link;
        if (o->is_marked) {
            o->is_marked = false;
            link = &o->next;
        } else {
            *link = o->next;
            free_object(o);
        }
    }
}

/* The intern table does not keep its strings. */
static void remove_white_strings(void) {
    for (size_t i = 0; i < vm.string_capacity; i++) {
        string *s = vm.strings[i];
        if (!s || s == REMOVED_STRING || s->header.is_marked) continue;
        vm.strings[i] = REMOVED_STRING;
        vm.string_count--;
    }
}

void collect(void) {
    vm.collections_done++;
    mark_roots();
    while (vm.gray_count) blacken(vm.gray[--vm.gray_count]);
    remove_white_strings();
    sweep();
    vm.bytes_next = vm.bytes * 2 > FIRST_COLLECTION ? vm.bytes * 2 : FIRST_COLLECTION;
}

unsigned long long collections(void) { return vm.collections_done; }

void collector_start(void) {
    vm.bytes_next = FIRST_COLLECTION;
    vm.is_stressed = getenv("VM_STRESS") != NULL;
}

void collector_end(void) {
    while (vm.objects) {
        object *o = vm.objects;
        vm.objects = o->next;
        free_object(o);
    }
    reallocate(vm.globals, (size_t)vm.global_capacity * sizeof(value), 0);
    reallocate(vm.global_names, (size_t)vm.global_capacity * sizeof(string *), 0);
    reallocate(vm.strings, vm.string_capacity * sizeof(string *), 0);
    vm.allocator(vm.allocator_context, vm.gray, 0);
}
