/* Calls between native and compiled code, built with the options that change what compilers make of their assembly. The
   first argument of GC_CODE_EXPORT is called as compiled code would call it. */
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"

typedef struct pair {
    gc_object header;
    void *left, *right;
} pair;
static const gc_type pair_type = GC_TYPE(pair, left, right);
static pair *made; /* where it was */

static pair *make(gc_thread *thread, uint64_t unused) {
    (void)unused;
    made = (pair *)gc_new(thread, &pair_type);
    return made;
}
static uint64_t subtract(gc_thread *thread, uint64_t a, uint64_t b) {
    gc_collect(gc_thread_heap(thread), 2, GC_COLLECT_BLOCKING);
    return a - b;
}
static double halve(gc_thread *thread, uint64_t number) {
    gc_safepoint(thread);
    return (double)number / 2;
}
GC_CODE_EXPORT_REF(code_make, make);
GC_CODE_EXPORT(code_subtract, subtract);
GC_CODE_EXPORT(code_halve, halve);

static uintptr_t call(gc_thread *thread, void (*code)(void), uintptr_t a, uintptr_t b) {
    uintptr_t arguments[3];
    arguments[0] = (uintptr_t)thread, arguments[1] = a, arguments[2] = b;
    return gc_code_call(thread, (const void *)(uintptr_t)code, arguments, 3);
}

int main(void) {
    gc_options options;
    memset(&options, 0, sizeof options);
    options.debug.stress = GC_STRESS_SAFEPOINT;
    gc_heap *heap = gc_heap_create(&options);
    gc_thread *thread = gc_thread_attach(heap);
    if (!thread) return 2;
    const pair *result = (const pair *)call(thread, code_make, 0, 0);
    int wrong = result == made || gc_object_type((void *)(uintptr_t)result) != &pair_type || result->left;
    wrong += call(thread, code_subtract, 50, 8) != 42;
    call(thread, code_halve, 9, 0);
    wrong += thread->code != NULL;
    gc_heap_destroy(heap);
    puts(wrong ? "wrong" : "right");
    return wrong;
}
