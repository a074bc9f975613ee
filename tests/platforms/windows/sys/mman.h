/* What the tests use of this header of POSIX, on Windows: memory without a file, as a whole. */
#pragma once

#include <stddef.h>

/* The system's header would define names that tests have, too. */
void *tap_alloc(void *address, size_t bytes, unsigned how, unsigned protection) __asm__("VirtualAlloc");
int tap_free(void *address, size_t bytes, unsigned how) __asm__("VirtualFree");
int tap_protect(void *address, size_t bytes, unsigned protection, unsigned *former) __asm__("VirtualProtect");

enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2, PROT_EXEC = 4 };
enum { MAP_PRIVATE = 2, MAP_ANONYMOUS = 0x20, MAP_NORESERVE = 0x4000 };
#define MAP_FAILED ((void *)-1)

static inline unsigned tap_protection(int protection) {
    if (protection & PROT_EXEC) return 0x40;
    return protection & PROT_WRITE ? 4 : protection & PROT_READ ? 2 : 1;
}
static inline void *mmap(void *address, size_t bytes, int protection, int flags, int file, long long offset) {
    (void)flags, (void)file, (void)offset;
    void *memory = tap_alloc(address, bytes, 0x3000 /* reserved and committed */, tap_protection(protection));
    return memory ? memory : MAP_FAILED;
}
static inline int munmap(void *address, size_t bytes) {
    (void)bytes;
    return tap_free(address, 0, 0x8000) ? 0 : -1;
}
static inline int mprotect(void *address, size_t bytes, int protection) {
    unsigned former;
    return tap_protect(address, bytes, tap_protection(protection), &former) ? 0 : -1;
}
