/* What the tests use of this header of POSIX, on Windows: memory without a file, as a whole. */
#pragma once

#include <windows.h>

enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2, PROT_EXEC = 4 };
enum { MAP_PRIVATE = 2, MAP_ANONYMOUS = 0x20, MAP_NORESERVE = 0x4000 };
#define MAP_FAILED ((void *)-1)

static inline DWORD tap_protection(int protection) {
    if (protection & PROT_EXEC) return PAGE_EXECUTE_READWRITE;
    return protection & PROT_WRITE ? PAGE_READWRITE : protection & PROT_READ ? PAGE_READONLY : PAGE_NOACCESS;
}
static inline void *mmap(void *address, size_t bytes, int protection, int flags, int file, long long offset) {
    (void)flags, (void)file, (void)offset;
    void *memory = VirtualAlloc(address, bytes, MEM_RESERVE | MEM_COMMIT, tap_protection(protection));
    return memory ? memory : MAP_FAILED;
}
static inline int munmap(void *address, size_t bytes) {
    (void)bytes;
    return VirtualFree(address, 0, MEM_RELEASE) ? 0 : -1;
}
static inline int mprotect(void *address, size_t bytes, int protection) {
    DWORD former;
    return VirtualProtect(address, bytes, tap_protection(protection), &former) ? 0 : -1;
}
