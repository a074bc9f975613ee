/* natives.c - functions that programs find defined. */
#include "vm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Fails unless argument i is of that kind. */
static bool takes(const char *who, const value *arguments, int i, kind k, const char *name) {
    if (is_kind(arguments[i], k)) return true;
    return fail("%s takes %s, not a %s", who, name, kind_name(arguments[i]));
}

static bool takes_number(const char *who, const value *arguments, int i) {
    if (is_number(arguments[i])) return true;
    return fail("%s takes a number, not a %s", who, kind_name(arguments[i]));
}

static bool native_print(int count, value *arguments) {
    text t = {0};
    for (int i = 0; i < count; i++) {
        if (i) text_add(&t, " ", 1);
        text_show(&t, arguments[i], 0);
    }
    text_add(&t, "\n", 1);
    fwrite(t.bytes, 1, t.length, stdout);
    text_free(&t);
    arguments[-1] = NIL;
    return true;
}

static bool native_clock(int count, value *arguments) {
    (void)count;
    arguments[-1] = number((double)clock() / CLOCKS_PER_SEC);
    return true;
}

static bool native_gc(int count, value *arguments) {
    (void)count;
    collect();
    arguments[-1] = NIL;
    return true;
}

/* How many strings there are. */
static bool native_interned(int count, value *arguments) {
    (void)count;
    arguments[-1] = number((double)vm.string_count);
    return true;
}

static bool native_len(int count, value *arguments) {
    value v = arguments[0];
    (void)count;
    if (is_kind(v, KIND_STRING))
        arguments[-1] = number((double)((string *)object_of(v))->length);
    else if (is_kind(v, KIND_ARRAY))
        arguments[-1] = number((double)((array *)object_of(v))->count);
    else if (is_kind(v, KIND_TABLE))
        arguments[-1] = number((double)((table *)object_of(v))->map.count);
    else
        return fail("len takes a string, an array or a table, not a %s", kind_name(v));
    return true;
}

static bool native_str(int count, value *arguments) {
    text t = {0};
    (void)count;
    text_show(&t, arguments[0], 0);
    arguments[-1] = value_of(new_string(t.length ? t.bytes : "", t.length));
    text_free(&t);
    return true;
}

static bool native_num(int count, value *arguments) {
    (void)count;
    if (!takes("num", arguments, 0, KIND_STRING, "a string")) return false;
    const string *s = object_of(arguments[0]);
    char *end;
    double d = strtod(s->bytes, &end);
    arguments[-1] = end == s->bytes || *end ? NIL : number(d);
    return true;
}

static bool native_type(int count, value *arguments) {
    (void)count;
    const char *name = kind_name(arguments[0]);
    arguments[-1] = value_of(new_string(name, strlen(name)));
    return true;
}

static bool native_floor(int count, value *arguments) {
    (void)count;
    if (!takes_number("floor", arguments, 0)) return false;
    arguments[-1] = number(floor(number_of(arguments[0])));
    return true;
}

static bool native_sqrt(int count, value *arguments) {
    (void)count;
    if (!takes_number("sqrt", arguments, 0)) return false;
    arguments[-1] = number(sqrt(number_of(arguments[0])));
    return true;
}

/* Strings. */

static bool in_string(const char *who, const value *arguments, int i, size_t *at) {
    size_t length = ((string *)object_of(arguments[0]))->length;
    double d = is_number(arguments[i]) ? number_of(arguments[i]) : -1;
    if (!(d >= 0 && d <= (double)length)) return fail("%s takes places from 0 to %d", who, (int)length);
    *at = (size_t)d;
    return true;
}

/* sub(s, from, to) */
static bool native_sub(int count, value *arguments) {
    size_t from = 0, to = 0;
    (void)count;
    if (!takes("sub", arguments, 0, KIND_STRING, "a string")) return false;
    if (!in_string("sub", arguments, 1, &from) || !in_string("sub", arguments, 2, &to)) return false;
    const string *s = object_of(arguments[0]);
    arguments[-1] = value_of(new_string(s->bytes + from, to > from ? to - from : 0));
    return true;
}

static bool native_code(int count, value *arguments) {
    size_t at = 0;
    (void)count;
    if (!takes("code", arguments, 0, KIND_STRING, "a string") || !in_string("code", arguments, 1, &at)) return false;
    arguments[-1] = number((unsigned char)((string *)object_of(arguments[0]))->bytes[at]);
    return true;
}

static bool native_char(int count, value *arguments) {
    (void)count;
    if (!takes_number("char", arguments, 0)) return false;
    char c = (char)(int)number_of(arguments[0]);
    arguments[-1] = value_of(new_string(&c, 1));
    return true;
}

/* find(s, part): where the part begins first, or nil. */
static bool native_find(int count, value *arguments) {
    (void)count;
    if (!takes("find", arguments, 0, KIND_STRING, "a string") || !takes("find", arguments, 1, KIND_STRING, "a string"))
        return false;
    const string *s = object_of(arguments[0]), *part = object_of(arguments[1]);
    const char *found = strstr(s->bytes, part->bytes);
    arguments[-1] = found ? number((double)(found - s->bytes)) : NIL;
    return true;
}

/* split(s, separator): an array. It is the result at once, so that it lives. */
static bool native_split(int count, value *arguments) {
    (void)count;
    if (!takes("split", arguments, 0, KIND_STRING, "a string") ||
        !takes("split", arguments, 1, KIND_STRING, "a string"))
        return false;
    const string *s = object_of(arguments[0]), *separator = object_of(arguments[1]);
    if (!separator->length) return fail("split takes a separator that is not empty");
    array *parts = new_array(0);
    arguments[-1] = value_of(parts);
    const char *from = s->bytes;
    for (const char *to; (to = strstr(from, separator->bytes)); from = to + separator->length)
        array_push(parts, value_of(new_string(from, (size_t)(to - from))));
    array_push(parts, value_of(new_string(from, (size_t)(s->bytes + s->length - from))));
    return true;
}

/* join(array, separator) */
static bool native_join(int count, value *arguments) {
    text t = {0};
    (void)count;
    if (!takes("join", arguments, 0, KIND_ARRAY, "an array") || !takes("join", arguments, 1, KIND_STRING, "a string"))
        return false;
    const array *a = object_of(arguments[0]);
    const string *separator = object_of(arguments[1]);
    for (size_t i = 0; i < a->count; i++) {
        if (i) text_add(&t, separator->bytes, separator->length);
        text_show(&t, a->values->items[i], 0);
    }
    arguments[-1] = value_of(new_string(t.length ? t.bytes : "", t.length));
    text_free(&t);
    return true;
}

/* Arrays and tables. */

static bool native_push(int count, value *arguments) {
    (void)count;
    if (!takes("push", arguments, 0, KIND_ARRAY, "an array")) return false;
    array_push(object_of(arguments[0]), arguments[1]);
    arguments[-1] = arguments[0];
    return true;
}

static bool native_pop(int count, value *arguments) {
    (void)count;
    if (!takes("pop", arguments, 0, KIND_ARRAY, "an array")) return false;
    array *a = object_of(arguments[0]);
    arguments[-1] = a->count ? array_pop(a) : NIL;
    return true;
}

/* slice(array, from, to): a new array. */
static bool native_slice(int count, value *arguments) {
    (void)count;
    if (!takes("slice", arguments, 0, KIND_ARRAY, "an array")) return false;
    if (!takes_number("slice", arguments, 1) || !takes_number("slice", arguments, 2)) return false;
    const array *a = object_of(arguments[0]);
    double from = number_of(arguments[1]), to = number_of(arguments[2]);
    if (!(from >= 0 && from <= to && to <= (double)a->count))
        return fail("slice takes places from 0 to %d", (int)a->count);
    array *part = new_array((size_t)(to - from));
    for (size_t i = (size_t)from; i < (size_t)to; i++) array_push(part, a->values->items[i]);
    arguments[-1] = value_of(part);
    return true;
}

/* array(count, v): an array of so many v. */
static bool native_array(int count, value *arguments) {
    (void)count;
    if (!takes_number("array", arguments, 0)) return false;
    double length = number_of(arguments[0]);
    if (!(length >= 0 && length <= 1e8)) return fail("array takes a length from 0 to 100000000");
    array *a = new_array((size_t)length);
    for (size_t i = 0; i < (size_t)length; i++) array_push(a, arguments[1]);
    arguments[-1] = value_of(a);
    return true;
}

/* keys(table): an array. */
static bool native_keys(int count, value *arguments) {
    size_t at = 0;
    value key, v;
    (void)count;
    if (!takes("keys", arguments, 0, KIND_TABLE, "a table")) return false;
    const table *t = object_of(arguments[0]);
    array *keys = new_array(t->map.count);
    while (map_next(&t->map, &at, &key, &v)) array_push(keys, key);
    arguments[-1] = value_of(keys);
    return true;
}

static bool native_remove(int count, value *arguments) {
    (void)count;
    if (!takes("remove", arguments, 0, KIND_TABLE, "a table")) return false;
    arguments[-1] = boolean(map_remove(&((table *)object_of(arguments[0]))->map, as_key(arguments[1])));
    return true;
}

static bool native_has(int count, value *arguments) {
    value found;
    (void)count;
    if (is_kind(arguments[0], KIND_INSTANCE))
        arguments[-1] = boolean(map_get(&((instance *)object_of(arguments[0]))->fields, arguments[1], &found));
    else if (takes("has", arguments, 0, KIND_TABLE, "a table or an instance"))
        arguments[-1] = boolean(map_get(&((table *)object_of(arguments[0]))->map, as_key(arguments[1]), &found));
    else
        return false;
    return true;
}

/* Coroutines and errors. */

static bool native_coroutine(int count, value *arguments) {
    coroutine *co = new_coroutine();
    arguments[-1] = value_of(co);
    return coroutine_start(co, arguments[0], count - 1, arguments + 1);
}

static void switch_to(coroutine *to) {
    to->resumer = vm.current;
    vm.current->state = STATE_SUSPENDED;
    to->state = STATE_RUNNING;
    vm.current = to;
}

/* resume(coroutine, v): v is what its yield returns, unless it begins only now. */
static bool native_resume(int count, value *arguments) {
    if (count < 1 || count > 2) return fail("resume takes a coroutine, and a value");
    if (!takes("resume", arguments, 0, KIND_COROUTINE, "a coroutine")) return false;
    coroutine *co = object_of(arguments[0]);
    if (co->state == STATE_DONE) return fail("the coroutine has ended");
    if (co->state == STATE_RUNNING || co->resumer) return fail("the coroutine is running");
    if (co->state == STATE_SUSPENDED) co->top[-1] = count > 1 ? arguments[1] : NIL;
    switch_to(co);
    return true;
}

static bool native_yield(int count, value *arguments) {
    coroutine *co = vm.current, *to = co->resumer;
    if (count > 1) return fail("yield takes one value");
    if (!to || co->catches) return fail("only a coroutine can yield");
    to->top[-1] = count ? arguments[0] : NIL;
    co->resumer = NULL;
    co->state = STATE_SUSPENDED;
    to->state = STATE_RUNNING;
    vm.current = to;
    return true;
}

static bool native_is_done(int count, value *arguments) {
    (void)count;
    if (!takes("is_done", arguments, 0, KIND_COROUTINE, "a coroutine")) return false;
    arguments[-1] = boolean(((coroutine *)object_of(arguments[0]))->state == STATE_DONE);
    return true;
}

/* try(f, arguments...): [true, result] or [false, error]. */
static bool native_try(int count, value *arguments) {
    if (count < 1) return fail("try takes a function");
    coroutine *co = new_coroutine();
    arguments[-1] = value_of(co);
    if (!coroutine_start(co, arguments[0], count - 1, arguments + 1)) return false;
    co->catches = true;
    switch_to(co);
    return true;
}

static bool native_error(int count, value *arguments) {
    (void)count;
    if (is_kind(arguments[0], KIND_STRING)) return fail("%s", ((string *)object_of(arguments[0]))->bytes);
    vm.error = arguments[0];
    return false;
}

static const struct {
    const char *name;
    int arity;
    native_call call;
} natives[] = {
    {"print", -1, native_print},   {"clock", 0, native_clock},       {"gc", 0, native_gc},
    {"len", 1, native_len},        {"interned", 0, native_interned}, {"str", 1, native_str},
    {"num", 1, native_num},        {"type", 1, native_type},         {"floor", 1, native_floor},
    {"sqrt", 1, native_sqrt},      {"sub", 3, native_sub},           {"code", 2, native_code},
    {"char", 1, native_char},      {"find", 2, native_find},         {"split", 2, native_split},
    {"join", 2, native_join},      {"push", 2, native_push},         {"pop", 1, native_pop},
    {"slice", 3, native_slice},    {"array", 2, native_array},       {"keys", 1, native_keys},
    {"remove", 2, native_remove},  {"has", 2, native_has},           {"coroutine", -1, native_coroutine},
    {"resume", -1, native_resume}, {"yield", -1, native_yield},      {"is_done", 1, native_is_done},
    {"try", -1, native_try},       {"error", 1, native_error},
};

void define_natives(void) {
    for (size_t i = 0; i < sizeof natives / sizeof *natives; i++) {
        string *name = new_string(natives[i].name, strlen(natives[i].name));
        int global = global_index(name);
        vm.globals[global] = value_of(new_native(natives[i].name, natives[i].arity, natives[i].call));
    }
}
