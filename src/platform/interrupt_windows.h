/* The platform contract for interrupts of compiled code, on Windows: there are none. */
#pragma once

#include "../api/code.h"
#include "platform.h"

#ifdef _WIN32
typedef struct gc__os_target {
    uint32_t id;
} gc__os_target;

GC__FN gc__os_target *gc__os_interruptible(void (*f)(void *context), const char **refusal) {
    (void)f;
    *refusal = "interrupting compiled code is for Linux only, so far: let it poll";
    return NULL;
}
GC__FN void gc__os_interrupt(gc__os_target *target) { (void)target; }
GC__FN void gc__os_interrupt_later(uint64_t ns) { (void)ns; }
GC__FN uintptr_t gc__os_context_pc(const void *context) { return (uintptr_t)context & 0; }
GC__FN void gc__os_context_read(const void *context, uintptr_t *registers) { (void)context, (void)registers; }
GC__FN void gc__os_context_write(void *context, const uintptr_t *registers) { (void)context, (void)registers; }
#endif
