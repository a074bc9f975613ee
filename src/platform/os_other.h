/* The platform contract for other systems. GC_OS names a file of the host with what a heap needs: memory, locks and waiting,
   threads, clocks, bounds of stacks. The rest is here, and does nothing or says that it does not know, unless that file
   defines it, and GC__OS_HAS_FAULTS, GC__OS_HAS_FORK, GC__OS_HAS_ADVICE or GC__OS_HAS_NAMES to say so. */
#pragma once

#include "platform.h"

#if defined(GC_OS) && !defined(__linux__) && !defined(_WIN32)
#include GC_OS

#include <limits.h>
#include <stdlib.h>

#ifndef GC__NOTE
#define GC__NOTE(function, record)
#endif

#ifndef GC__OS_HAS_FAULTS
GC__FN void gc__os_on_fault(gc__fault_handler f) { (void)f; }
GC__FN uintptr_t gc__os_fault_pc(const uintptr_t *words) { return (void)words, 0; }
GC__FN int gc__os_fault_frames(const uintptr_t *words, void **frames) { return (void)words, (void)frames, 0; }
#endif

#ifndef GC__OS_HAS_FORK
GC__FN bool gc__os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
    return (void)before, (void)in_parent, (void)in_child, true;
}
GC__FN void gc__lock_fork_take(gc__lock *lock) { (void)lock; }
GC__FN void gc__lock_fork_adopt(gc__lock *lock) { (void)lock; }
GC__FN void gc__lock_fork_release(gc__lock *lock) { (void)lock; }
#endif

#ifndef GC__OS_HAS_ADVICE
GC__FN const char *gc__os_refusal(size_t bytes) { return (void)bytes, "give the process more memory"; }
GC__FN size_t gc__os_container_bytes(void) { return 0; }
GC__FN unsigned gc__os_quota(void) { return UINT_MAX; }
GC__FN void gc__os_leave_out_of_dumps(void *address, size_t bytes) { (void)address, (void)bytes; }
GC__FN void gc__os_prefer_huge_pages(void *address, size_t bytes) { (void)address, (void)bytes; }
GC__FN void gc__os_prefer_small_pages(void *address, size_t bytes) { (void)address, (void)bytes; }
GC__FN void gc__os_populate(void *address, size_t bytes) { (void)address, (void)bytes; }
GC__FN void gc__os_each_written(uintptr_t from, uintptr_t end, void (*visit)(void *, uintptr_t, uintptr_t), void *context) {
    visit(context, from, end);
}
GC__FN bool gc__os_is_mapped(const void *address, size_t bytes) {
    (void)address, (void)bytes;
    errno = ENOSYS;
    return true;
}
GC__FN bool gc__os_read(void *to, const void *from, size_t bytes) { return (void)to, (void)from, (void)bytes, false; }
GC__FN size_t gc__os_l2_bytes(void) { return (size_t)1 << 20; }
GC__FN unsigned gc__os_processors(void) { return 1; } /* so heaps have one collecting thread unless the host wants more */
GC__FN int gc__os_processor(void) { return -1; }
GC__FN bool gc__os_is_single_threaded(void) { return false; }
GC__FN uint32_t gc__os_thread_number(void) { return (uint32_t)gc__os_self(); }
GC__FN bool gc__os_worker_start(gc__os_thread *thread, const char *name, void (*f)(void *context), void *context) {
    (void)name;
    return gc__os_thread_start(thread, f, context);
}
GC__FN void gc__os_thread_is_patient(void) {}
GC__FN void gc__os_leave_processor(gc__os_thread *self, int processor) { (void)self, (void)processor; }
#endif

#ifndef GC__OS_HAS_NAMES
GC__FN int gc__os_stack_frames(void **frames) { return (void)frames, 0; }
GC__FN int gc__os_list_frames(void **frames, int most) { return (void)frames, (void)most, 0; }
GC__COLD void gc__os_print_stack(void) { fprintf(stderr, "gc.h:     (call stacks are not known on this system)\n"); }
GC__COLD void gc__os_name_frames(void *const *frames, int count, uintptr_t exact) {
    (void)frames, (void)count, (void)exact;
    gc__os_print_stack();
}
GC__COLD void gc__os_name_data(char *text, size_t bytes, uintptr_t address) {
    snprintf(text, bytes, "static data at %p", (void *)address);
}
GC__FN void gc__os_each_data(void (*f)(void *context, uintptr_t start, uintptr_t end), void *context) { (void)f, (void)context; }
GC__FN bool gc__os_is_file_code(const void *address) { return (void)address, false; }
GC__FN const char *gc__os_setting(const char *variable) {
    const char *value = getenv(variable);
    return value && *value ? value : NULL;
}
GC__FN const char *gc__os_program_name(void) { return "the program"; }
GC__FN uint32_t gc__os_process_number(void) { return 0; }
#endif
#endif
