/* Compiled code on the stacks of a profile, which the environment asks for: code that was there before, that came later, that
   took the place of other code, that gc_stackmap.h has registered, and that only a perf map names.
   With an argument, N, it runs for N ms in compiled code. */
#define _GNU_SOURCE
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"
#include "gc_profile.h"

#include "../fixture.h"
#include "../unit/code.h"

typedef void (*call_through)(void (*f)(void));

/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
static const unsigned char calling[] = {0x55, 0x48, 0x89, 0xE5, 0xFF, 0xD7, 0x5D, 0xC3};
/* mov rax, rdi; then dec rax; jnz back; ret */
static const unsigned char spinning[] = {0x48, 0x89, 0xF8, 0x48, 0xFF, 0xC8, 0x75, 0xFB, 0xC3};

static unsigned char *place(unsigned char *memory, const unsigned char *code, size_t bytes) {
    if (!memory) memory = code_memory(4096);
    mprotect(memory, 4096, PROT_READ | PROT_WRITE);
    memcpy(memory, code, bytes);
    code_protect(memory, 4096);
    return memory;
}

__attribute__((noinline)) static void allocate_one(void) {
    new_node(1);
    gc__cpu_keep_frame();
}

static void run_code(unsigned char *code) {
    call_through f;
    memcpy(&f, &code, sizeof f);
    f(allocate_one);
}

static method *make(const char *name) {
    method *m = method_begin(name);
    enter(m), save(m, RBX), clear(m, RBX), call_native(m, allocate_one, 0), restore(m, RBX), leave(m), ret(m);
    return method_end(m);
}

static void write_map(const unsigned char *code) {
    char name[64];
    snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(name, "w");
    if (!map) exit(2);
    fprintf(map, "%lx %lx wrong\n%lx 10 foreign: with spaces\nnonsense\n", (unsigned long)(uintptr_t)code, 4096ul,
            (unsigned long)(uintptr_t)code);
    fclose(map);
}

int main(int count, char **arguments) {
    unsigned char *first = place(NULL, calling, sizeof calling), *foreign = place(NULL, calling, sizeof calling);
    unsigned char *spin = place(NULL, spinning, sizeof spinning);
    const gc_profile_line lines[] = {{(uintptr_t)spin, 21, "spin.scm"}, {(uintptr_t)spin + 3, 22, "spin.scm"}};
    gc_profile_code_add(first, sizeof calling, "before", NULL, 0);
    const gc_profile_line moved[] = {{(uintptr_t)first, 31, "first.scm"}, {(uintptr_t)first + 6, 32, "first.scm"}};
    method *compiled = make("compiled");
    begin(NULL);
    run_code(first);
    gc_code_call(gc, compiled->start, NULL, 0);
    method *later = make("later");
    gc_code_call(gc, later->start, NULL, 0);
    gc_profile_code_remove(first);
    gc_profile_code_add(place(first, calling, sizeof calling), sizeof calling, "after", moved, 2);
    run_code(first);
    method_free(later);
    method_free(compiled);
    if (count < 2) write_map(foreign);
    run_code(foreign);
    gc_profile_code_add(spin, sizeof spinning, "spin", lines, 2);
    uint64_t until = gc__os_now_ns() + (count < 2 ? 0 : strtoull(arguments[1], NULL, 10) * GC__NS_PER_MS);
    uintptr_t (*f)(uintptr_t);
    memcpy(&f, &spin, sizeof f);
    while (gc__os_now_ns() < until) f(1000000);
    end();
    printf("%d\n", (int)getpid());
    return 0;
}
