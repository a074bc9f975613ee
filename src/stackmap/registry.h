/* Code ranges by address. */
#pragma once

#include "../api/code.h"

/* A sorted array that is never changed once it is published; readers may be anywhere, so former ones stay. */
typedef struct gc__codes {
    size_t count;
    const gc_code *items[];
} gc__codes;

static gc__codes *gc__codes_now; /* atomic */
static gc__lock gc__codes_lock = GC__LOCK_INITIALIZER;

GC__FN uintptr_t gc__code_end(const gc_code *code) { return (uintptr_t)code->start + code->bytes; }

/* The number of ranges that start at the address or below it. */
GC__FN size_t gc__codes_below(const gc__codes *codes, uintptr_t address) {
    size_t low = 0, high = codes ? codes->count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)codes->items[middle]->start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

GC_API const gc_code *gc_code_find(const void *pc) {
    const gc__codes *codes = __atomic_load_n(&gc__codes_now, __ATOMIC_ACQUIRE);
    size_t below = gc__codes_below(codes, (uintptr_t)pc);
    return below && (uintptr_t)pc < gc__code_end(codes->items[below - 1]) ? codes->items[below - 1] : NULL;
}

GC_API size_t gc_code_count(void) {
    const gc__codes *codes = __atomic_load_n(&gc__codes_now, __ATOMIC_ACQUIRE);
    return codes ? codes->count : 0;
}

GC__FN const char *gc__code_name(const gc_code *code) { return code->name ? code->name : "code without a name"; }

GC__FN gc_result gc__code_check(const gc_code *code) {
    if (gc__is_null(code, "gc_code_add", "code") || gc__is_null(code->start, "gc_code_add", "code->start"))
        return GC_ERROR_ARGUMENT;
    if (!code->bytes || gc__code_end(code) < (uintptr_t)code->start)
        return gc__fail(GC_ERROR_FORMAT, "gc_code_add: %s at %p has %zu bytes", gc__code_name(code), code->start, code->bytes);
    const char *wrong = NULL;
    if (!code->format) {
        if (gc__is_null(code->map, "gc_code_add", "code->map")) return GC_ERROR_ARGUMENT;
    } else if (code->format->check) {
        wrong = code->format->check(code);
    }
    if (!wrong) return GC_OK;
    return gc__fail(GC_ERROR_FORMAT, "gc_code_add: the map of %s at %p: %s", gc__code_name(code), code->start, wrong);
}

/* Publishes a copy of the array with `code` at index `at`, or without it. */
GC__FN gc_result gc__codes_change(const gc_code *code, size_t at, bool add) {
    const gc__codes *old = gc__codes_now;
    size_t count = old ? old->count : 0, rest = count - at - !add;
    gc__codes *codes = (gc__codes *)malloc(sizeof *codes + (count + 1) * sizeof(void *));
    if (!codes) return gc__fail(GC_ERROR_MEMORY, "the registry of code has no memory for another range");
    codes->count = add ? count + 1 : count - 1;
    if (at) memcpy(codes->items, old->items, at * sizeof(void *));
    if (add) codes->items[at] = code;
    if (rest) memcpy(codes->items + at + add, old->items + at + !add, rest * sizeof(void *));
    __atomic_store_n(&gc__codes_now, codes, __ATOMIC_RELEASE);
    return GC_OK;
}

GC_API gc_result gc_code_add(const gc_code *code) {
    gc_result result = gc__code_check(code);
    if (result != GC_OK) return result;
    gc__lock_take(&gc__codes_lock);
    size_t below = gc__codes_below(gc__codes_now, gc__code_end(code) - 1);
    const gc_code *last = below ? gc__codes_now->items[below - 1] : NULL;
    if (last && gc__code_end(last) > (uintptr_t)code->start)
        result = gc__fail(GC_ERROR_FORMAT, "gc_code_add: %s at %p overlaps %s at %p", gc__code_name(code), code->start,
                          gc__code_name(last), last->start);
    else
        result = gc__codes_change(code, below, true);
    gc__lock_release(&gc__codes_lock);
    return result;
}

GC_API gc_result gc_code_remove(const gc_code *code) {
    if (gc__is_null(code, "gc_code_remove", "code")) return GC_ERROR_ARGUMENT;
    gc__lock_take(&gc__codes_lock);
    gc_result result;
    if (gc_code_find(code->start) != code)
        result = gc__fail(GC_ERROR_MISUSE, "gc_code_remove: %s at %p is not registered", gc__code_name(code), code->start);
    else
        result = gc__codes_change(code, gc__codes_below(gc__codes_now, (uintptr_t)code->start) - 1, false);
    gc__lock_release(&gc__codes_lock);
    return result;
}
