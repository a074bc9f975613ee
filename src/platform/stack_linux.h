/* The platform contract for unwinding the native stack, on Linux: registers, the bounds of stacks, the files with
   code. */
#pragma once

#include "platform.h"
#include "image.h"

#include <link.h>
#include <sys/auxv.h>
#include <ucontext.h>

/* Registers have DWARF's numbers. GC__CPU_PC is the number of the return address. */
#if defined(__x86_64__)
enum { GC__CPU_FRAME = 6, GC__CPU_SP = 7, GC__CPU_PC = 16, GC__CPU_REGISTERS = 17, GC__CPU_HAS_CFI = 1 };
#define GC__CPU_PRESERVED_COUNT 6
static const uint8_t gc__cpu_preserved[GC__CPU_PRESERVED_COUNT] = {3, 6, 12, 13, 14, 15};
/* Maps the processor's own register numbers to DWARF's. */
static const uint8_t gc__cpu_dwarf[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

/* Stores the registers that calls preserve, the stack pointer and the pc, all as they are at one instruction. */
#define GC__CPU_HERE(r)                                                 \
    __asm__ volatile("{leaq 0(%%rip), %%rax|lea rax, [rip]}\n\t"        \
                     "{movq %%rax, 128(%0)|mov [%0+128], rax}\n\t"      \
                     "{movq %%rbx, 24(%0)|mov [%0+24], rbx}\n\t"        \
                     "{movq %%rbp, 48(%0)|mov [%0+48], rbp}\n\t"        \
                     "{movq %%rsp, 56(%0)|mov [%0+56], rsp}\n\t"        \
                     "{movq %%r12, 96(%0)|mov [%0+96], r12}\n\t"        \
                     "{movq %%r13, 104(%0)|mov [%0+104], r13}\n\t"      \
                     "{movq %%r14, 112(%0)|mov [%0+112], r14}\n\t"      \
                     "{movq %%r15, 120(%0)|mov [%0+120], r15}" ::"r"(r) \
                     : "rax", "memory")
#elif defined(__aarch64__)
enum { GC__CPU_FRAME = 29, GC__CPU_SP = 31, GC__CPU_PC = 32, GC__CPU_REGISTERS = 33, GC__CPU_HAS_CFI = 0 };
#define GC__CPU_PRESERVED_COUNT 1
static const uint8_t gc__cpu_preserved[GC__CPU_PRESERVED_COUNT] = {29};
static const uint8_t gc__cpu_dwarf[16] = {0};
#define GC__CPU_HERE(r)                                                                                       \
    __asm__ volatile(                                                                                         \
        "adr x9, .\n\tstr x9, [%0, #256]\n\tstr x29, [%0, #232]\n\tmov x9, sp\n\tstr x9, [%0, #248]" ::"r"(r) \
        : "x9", "memory")
#else /* with numbers of gc.h's own; the pc is the address to which the function returns */
enum { GC__CPU_FRAME = 0, GC__CPU_SP = 1, GC__CPU_PC = 2, GC__CPU_REGISTERS = 3, GC__CPU_HAS_CFI = 0 };
#define GC__CPU_PRESERVED_COUNT 1
static const uint8_t gc__cpu_preserved[GC__CPU_PRESERVED_COUNT] = {0};
static const uint8_t gc__cpu_dwarf[16] = {0};
#define GC__CPU_HERE(r)                                                   \
    ((r)[GC__CPU_FRAME] = (uintptr_t)__builtin_frame_address(0),          \
     (r)[GC__CPU_SP] = (r)[GC__CPU_FRAME], (r)[GC__CPU_PC] = (uintptr_t)__builtin_return_address(0))
#endif
#if defined(__x86_64__) || defined(__aarch64__)
#define GC__CPU_UNWINDS 1
#else
#define GC__CPU_UNWINDS 0 /* gc.h does not leave frames itself: the C library lists them */
#endif

/* Stores the registers of the code that a signal has interrupted. */
GC__FN void gc__cpu_interrupted(uintptr_t *registers, const void *context) {
    const ucontext_t *at = (const ucontext_t *)context;
#if defined(__x86_64__)
    static const uint8_t order[GC__CPU_REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                     REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (int i = 0; i < GC__CPU_REGISTERS; i++) registers[i] = (uintptr_t)at->uc_mcontext.gregs[order[i]];
#elif defined(__aarch64__)
    memcpy(registers, at->uc_mcontext.regs, 31 * sizeof *registers);
    registers[GC__CPU_SP] = at->uc_mcontext.sp;
    registers[GC__CPU_PC] = at->uc_mcontext.pc;
#else
    const uintptr_t *words = gc__os_context(at);
    registers[GC__CPU_FRAME] = words[GC__OS_FRAME_POINTER];
    registers[GC__CPU_SP] = words[GC__OS_FAULT_SP];
    registers[GC__CPU_PC] = words[GC__OS_FAULT_PC];
#endif
}

GC__FN int gc__os_count_changes(struct dl_phdr_info *file, size_t bytes, void *count) {
    bool counts = bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof file->dlpi_subs;
    *(uint32_t *)count = counts ? (uint32_t)(file->dlpi_adds + file->dlpi_subs) : 0;
    return 1;
}
/* Returns a number that differs after each change of the set of loaded files with code. */
GC__FN uint32_t gc__os_file_changes(void) {
    uint32_t count = 0;
    dl_iterate_phdr(gc__os_count_changes, &count);
    return count;
}

/* The name by which the program's own file is opened, even if it was removed since. */
#define GC__OS_PROGRAM_FILE "/proc/self/exe"

/* The tables of the file with code at a pc: its .eh_frame_hdr, or else its .eh_frame (0: it has none), and the segment
   with these, beyond which nothing is read. */
typedef struct gc__os_tables {
    uintptr_t header, frames, start, end;
} gc__os_tables;

/* Returns the address of the program's .eh_frame, relative to where the program is loaded; 0 if it has none. It is
   found by its section, since statically linked programs often have no .eh_frame_hdr. */
GC__FN uintptr_t gc__os_program_frames(void) {
    static uintptr_t frames; /* atomic; 0: not looked for yet; 1: there are none */
    uintptr_t found = __atomic_load_n(&frames, __ATOMIC_RELAXED);
    gc__image program;
    Elf64_Shdr section;
    if (found) return found == 1 ? 0 : found;
    found = 1;
    if (!gc__image_map(GC__OS_PROGRAM_FILE, &program)) {
        if (gc__image_section_named(&program, ".eh_frame", &section)) found = section.sh_addr;
        gc__image_unmap(&program);
    }
    __atomic_store_n(&frames, found, __ATOMIC_RELAXED);
    return found == 1 ? 0 : found;
}

typedef struct gc__os_tables_search {
    uintptr_t pc;
    void (*f)(void *context, const gc__os_tables *tables);
    void *context;
} gc__os_tables_search;

GC__FN bool gc__os_is_program(const struct dl_phdr_info *file) {
    return (uintptr_t)file->dlpi_phdr == getauxval(AT_PHDR);
}

GC__FN int gc__os_tables_in(struct dl_phdr_info *file, size_t bytes, void *context) {
    const gc__os_tables_search *search = (const gc__os_tables_search *)context;
    gc__os_tables tables = {0, 0, 0, 0};
    if (!gc__os_file_has_code(file, bytes, (void *)search->pc)) return 0;
    for (int i = 0; i < file->dlpi_phnum; i++)
        if (file->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) tables.header = file->dlpi_addr + file->dlpi_phdr[i].p_vaddr;
    if (!tables.header && gc__os_is_program(file) && gc__os_program_frames())
        tables.frames = file->dlpi_addr + gc__os_program_frames();
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        uintptr_t start = file->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_R) ||
            (tables.header | tables.frames) - start >= part->p_memsz)
            continue;
        tables.start = start;
        tables.end = start + part->p_memsz;
    }
    if (!tables.end) tables.header = tables.frames = 0;
    search->f(search->context, &tables);
    return 1;
}
/* Calls f for the file that has code at the pc, which is not unloaded during the call. Returns false if no file has. */
GC__FN bool gc__os_tables_of(uintptr_t pc, void (*f)(void *context, const gc__os_tables *tables), void *context) {
    gc__os_tables_search search = {pc, f, context};
    return dl_iterate_phdr(gc__os_tables_in, &search) != 0;
}

#define GC__OS_NO_FILE "[vdso]"

/* The code of a file in memory, and the identity of the file. */
typedef struct gc__os_code {
    uintptr_t start, end;
    uint64_t offset;  /* of `start` in the file */
    const char *path; /* "" for the program, GC__OS_NO_FILE for code that the kernel supplies */
    const uint8_t *build_id;
    size_t build_id_bytes; /* 0: the file has none */
} gc__os_code;

typedef struct gc__os_code_search {
    void (*f)(void *context, const gc__os_code *code);
    void *context;
} gc__os_code_search;

GC__FN int gc__os_code_in(struct dl_phdr_info *file, size_t bytes, void *context) {
    const gc__os_code_search *search = (const gc__os_code_search *)context;
    gc__os_code code = {0, 0, 0, file->dlpi_name, NULL, 0};
    uintptr_t page = gc__os_page_bytes();
    (void)bytes;
    if (gc__os_is_program(file))
        code.path = "";
    else if (file->dlpi_addr == getauxval(AT_SYSINFO_EHDR)) /* 0 without a vDSO, as is the address of many programs */
        code.path = GC__OS_NO_FILE;
    for (int i = 0; i < file->dlpi_phnum && !code.build_id; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        if (part->p_type != PT_NOTE) continue;
        const uint8_t *notes = (const uint8_t *)(file->dlpi_addr + part->p_vaddr);
        code.build_id = gc__image_id_in(notes, part->p_memsz, part->p_align, &code.build_id_bytes);
    }
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        uintptr_t start = file->dlpi_addr + part->p_vaddr, before = start & (page - 1);
        code.start = start - before;
        code.offset = part->p_offset - before;
        code.end = (start + part->p_memsz + page - 1) & ~(page - 1);
        search->f(search->context, &code);
    }
    return 0;
}
/* Calls f for the code of each loaded file, the program first. */
GC__FN void gc__os_each_code(void (*f)(void *context, const gc__os_code *code), void *context) {
    gc__os_code_search search = {f, context};
    dl_iterate_phdr(gc__os_code_in, &search);
}
/* Writes the path of the program; "" if the system does not say. */
GC__FN void gc__os_program_path(char *path, size_t bytes) {
    ssize_t length = readlink("/proc/self/exe", path, bytes - 1);
    path[length < 0 ? 0 : length] = 0;
}
