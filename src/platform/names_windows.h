/* The platform contract for reports, on Windows: places in loaded files. The names of functions and variables are not read:
   a tool such as addr2line finds them by the offset. */
#pragma once

#include "memory_windows.h"

#ifdef _WIN32
#include <stdio.h>

/* Writes "file+offset", or the address alone if it is in no file. */
GC__COLD void gc__os_place_text(char *text, size_t bytes, uintptr_t address) {
    char path[GC__OS_PATH_BYTES];
    gc__os_part part;
    bool is_known = gc__call_VirtualQuery((const void *)address, &part, sizeof part) && part.type == GC__OS_IMAGE;
    uint32_t length = is_known ? gc__call_GetModuleFileNameA(part.reserved_at, path, GC__OS_PATH_BYTES - 1) : 0;
    path[length] = 0;
    if (length)
        snprintf(text, bytes, "%s+%#zx", path, (size_t)(address - (uintptr_t)part.reserved_at));
    else
        snprintf(text, bytes, "%p, which is in no file", (void *)address);
}

GC__COLD void gc__os_name_frames(void *const *frames, int count, uintptr_t exact) {
    char text[GC__OS_PATH_BYTES + 32];
    for (int i = 0; i < count; i++) {
        uintptr_t pc = (uintptr_t)frames[i];
        gc__os_place_text(text, sizeof text, pc - (pc != exact)); /* a return address is that of the next instruction */
        fprintf(stderr, "gc.h:     %s\n", text);
    }
}

GC__COLD void gc__os_print_stack(void) {
    void *frames[GC__STACK_FRAMES];
    gc__os_name_frames(frames, gc__os_stack_frames(frames), 0);
}

GC__COLD void gc__os_name_data(char *text, size_t bytes, uintptr_t address) {
    char place[GC__OS_PATH_BYTES + 32];
    gc__os_place_text(place, sizeof place, address);
    snprintf(text, bytes, "static data at %p (%s)", (void *)address, place);
}

/* The parts of the address space that files are mapped to are asked for one by one: this takes no lock of the loader. */
GC__COLD void gc__os_each_data(void (*f)(void *context, uintptr_t start, uintptr_t end), void *context) {
    gc__os_part part;
    for (uintptr_t at = 0; gc__call_VirtualQuery((const void *)at, &part, sizeof part);) {
        uintptr_t start = (uintptr_t)part.start, end = start + part.bytes;
        bool is_written = part.protection == GC__OS_WRITE || part.protection == GC__OS_COPY;
        if (part.type == GC__OS_IMAGE && part.state == GC__OS_COMMIT && is_written) f(context, start, end);
        if (end <= at) break;
        at = end;
    }
}
#endif
