/* Calls between native and compiled code: the stubs are in src/platform. */
#pragma once

#include "../platform/code_x86_64.h"
#include "../threads/mode.h"
#include "registry.h"

#define GC__CODE_ARGUMENTS 6 /* those that are in integer registers */

GC__STATIC_ASSERT(offsetof(gc_thread, poll) == 88 && offsetof(gc_thread, code) == 112 &&
                      offsetof(gc_thread, safepoint) == 120,
                  "the assembly of the stubs has these offsets");
GC__STATIC_ASSERT(offsetof(gc_code_frame, previous) == 0 && offsetof(gc_code_frame, pc) == 8 &&
                      offsetof(gc_code_frame, registers) == 16 && offsetof(gc_code_frame, known) == 144 &&
                      offsetof(gc_code_frame, kind) == 148 && offsetof(gc_code_frame, results) == 150 &&
                      sizeof(gc_code_frame) <= 160,
                  "the assembly of the stubs has these offsets");
GC__STATIC_ASSERT(GC_FRAME_CALLER == 0 && GC_RETURN_OBJECT == 1, "the assembly of the stubs has these values");

/* The units of a program that have a static gc.h each share the stubs, but know their own threads only. */
#if GC_DEBUG >= 1 && !GC__API_IS_STATIC
/* Compiled code has called a stub with `thread` in r10. */
__attribute__((used)) GC__FN void gc__code_check_thread(const gc_thread *thread, uintptr_t return_address) {
    const gc_thread *mine = GC__MY_ATTACHMENTS;
    while (mine && (mine != thread || !gc_thread_heap(mine))) mine = gc__record(mine)->next_attachment;
    if (mine && gc__is_cooperative(mine)) return;
    const gc_code *code = gc_code_find((const void *)(return_address - 1));
    const char *name = code ? gc__code_name(code) : "code that is not registered";
    size_t offset = code ? return_address - (uintptr_t)code->start : 0;
    GC_ASSERT(
        mine,
        "gc_code_call_native: the call in `%s` that returns to %p (+0x%zx) has %p in r10, which is no attached "
        "gc_thread of the calling thread: load into r10 what gc_code_call has put into r15, or pass it as the first "
        "argument (rdi) to what GC_CODE_EXPORT has defined",
        name, (void *)return_address, offset, (const void *)thread);
    GC_ASSERT(false,
              "gc_code_call_native: the call in `%s` that returns to %p (+0x%zx) is in preemptive mode: compiled code "
              "runs in "
              "cooperative mode",
              name, (void *)return_address, offset);
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings" /* the C standard need not allow the string of their assembly */
GC__CODE_NATIVE_STUBS(GC__CODE_CHECK, "i"(gc__code_check_thread))
#pragma GCC diagnostic pop
#else
GC__CODE_NATIVE_STUBS(, )
#endif

GC_API uintptr_t gc_code_call(gc_thread *thread, const void *start, const uintptr_t *arguments, size_t count) {
    if (!GC__HAS_CODE_CALLS)
        gc__fatal(&thread->heap->options, "gc_code_call: compiled code can be called on x86-64 Linux only, so far");
    GC_ASSERT(count <= GC__CODE_ARGUMENTS,
              "gc_code_call: %zu arguments, of which only six fit in registers: pass a pointer to the others", count);
    GC_ASSERT(gc__is_cooperative(thread), "gc_code_call: compiled code runs in cooperative mode");
    GC_ASSERT(
        !thread->code || (const char *)thread->code > (const char *)__builtin_frame_address(0),
        "gc_code_call: a call out of compiled code was left by longjmp or by an exception: restore by gc_code_restore "
        "what gc_code_mark has returned before");
    uintptr_t registers[GC__CODE_ARGUMENTS] = {0};
    for (size_t i = 0; i < count && i < GC__CODE_ARGUMENTS; i++) registers[i] = arguments[i];
    return gc__code_enter(thread, start, registers);
}

GC_API void gc_code_restore(gc_thread *thread, gc_code_frame *mark) {
    GC_ASSERT(!mark || thread->code <= mark,
              "gc_code_restore: the mark %p is that of a call which has ended: take it by gc_code_mark in the function "
              "that calls setjmp, or that catches",
              (void *)mark);
    thread->code = mark;
}
