/* memory.c - memory from the host, and what C code holds. */
#include "vm.h"

#include <stdlib.h>

machine vm;

static void *system_allocator(void *context, void *memory, size_t bytes) {
    (void)context;
    if (bytes) return realloc(memory, bytes);
    free(memory);
    return NULL;
}

/* All memory of the machine goes through here. */
void *reallocate(void *memory, size_t bytes_before, size_t bytes) {
    if (!vm.allocator) vm.allocator = system_allocator;
    vm.bytes += bytes - bytes_before;
    memory = vm.allocator(vm.allocator_context, memory, bytes);
    if (!memory && bytes) quit("out of memory");
    return memory;
}

/* What C code holds while it allocates is protected. */
void protect(const void *object) {
    if (vm.held_count == HELD_MAX) quit("too many objects are protected");
    vm.held[vm.held_count++] = value_of(object);
}

void unprotect(int count) { vm.held_count -= count; }
