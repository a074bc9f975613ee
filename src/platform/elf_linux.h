/* The platform contract for loaded libraries, on Linux: checks the header of a file before the dynamic linker reads it,
   whose messages say less. */
#pragma once

#include "image.h"
#include "library_linux.h"

typedef struct gc__elf_name {
    uint16_t number;
    const char *text;
} gc__elf_name;

GC__FN const char *gc__elf_machine_text(uint16_t machine) {
    static const gc__elf_name names[] = {{EM_386, "i386"},        {EM_ARM, "ARM"},       {EM_X86_64, "x86-64"},
                                         {EM_AARCH64, "AArch64"}, {EM_PPC64, "PowerPC"}, {EM_S390, "S/390"},
                                         {GC__IMAGE_RISCV, "RISC-V"},         {EM_MIPS, "MIPS"},     {258, "LoongArch"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == machine) return names[i].text;
    return "an unknown machine";
}

GC__FN const char *gc__elf_type_text(uint16_t type) {
    static const gc__elf_name names[] = {
        {ET_REL, "an object file, not linked yet"}, {ET_EXEC, "a program"}, {ET_CORE, "a core dump"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == type) return names[i].text;
    return "a file of an unknown kind";
}

GC__FN bool gc__elf_is_cut(gc__os_library *library, uint64_t bytes) {
    return gc__os_trouble(library, "Build the library again, or copy it again",
                          "the file is truncated: it has %llu bytes, and its header speaks of %llu",
                          (unsigned long long)library->bytes, (unsigned long long)bytes);
}

/* Returns whether the file has `bytes` bytes from the offset on. */
GC__FN bool gc__elf_has(gc__os_library *library, uint64_t offset, uint64_t bytes) {
    uint64_t end = offset + bytes < offset ? UINT64_MAX : offset + bytes;
    return end <= library->bytes || gc__elf_is_cut(library, end);
}

GC__FN bool gc__elf_read(gc__os_library *library, void *to, size_t bytes, uint64_t offset) {
    if (!gc__elf_has(library, offset, bytes)) return false;
    return pread(library->file, to, bytes, (off_t)offset) == (ssize_t)bytes || gc__elf_is_cut(library, offset + bytes);
}

GC__FN bool gc__elf_is_elf(gc__os_library *library, const unsigned char *ident, size_t bytes) {
    char shown[9] = "";
    if (bytes >= SELFMAG && memcmp(ident, ELFMAG, SELFMAG) == 0) return true;
    for (size_t i = 0; i < bytes && i < sizeof shown - 1; i++)
        shown[i] = ident[i] > ' ' && ident[i] < 127 ? (char)ident[i] : '.';
    return gc__os_trouble(library, "Name a shared library, which `gcc -shared` makes",
                          "it is no ELF file: it begins with `%s`", shown);
}

/* Returns whether the file is for this machine. The first 20 bytes of headers are alike for all word sizes. */
GC__FN bool gc__elf_is_for_us(gc__os_library *library, const unsigned char *start) {
    bool is_big = start[EI_DATA] == ELFDATA2MSB;
    uint16_t type = (uint16_t)(start[is_big ? 17 : 16] | start[is_big ? 16 : 17] << 8);
    uint16_t machine = (uint16_t)(start[is_big ? 19 : 18] | start[is_big ? 18 : 19] << 8);
    if (machine != GC__IMAGE_MACHINE || start[EI_CLASS] != ELFCLASS64 || start[EI_DATA] != GC__IMAGE_ORDER)
        return gc__os_trouble(
            library, "Build the library by the compiler that the program was built by",
            "it is for %s (machine %u) with words of %s bits, the %s byte first, and this program for %s "
            "with words of 64 bits, the %s byte first",
            gc__elf_machine_text(machine), machine,
            start[EI_CLASS] == ELFCLASS64   ? "64"
            : start[EI_CLASS] == ELFCLASS32 ? "32"
                                            : "unknown",
            is_big ? "highest" : "lowest", gc__elf_machine_text(GC__IMAGE_MACHINE),
            GC__IMAGE_ORDER == ELFDATA2LSB ? "lowest" : "highest");
    if (type == ET_DYN) return true;
    return gc__os_trouble(library, "Link it by `gcc -shared`", "it is %s (type %u), no shared library",
                          gc__elf_type_text(type), type);
}

/* Returns whether the file contains everything that its header refers to. */
GC__FN bool gc__elf_is_whole(gc__os_library *library) {
    Elf64_Ehdr header;
    Elf64_Phdr part;
    if (!gc__elf_read(library, &header, sizeof header, 0)) return false;
    if (header.e_phentsize != sizeof part || header.e_phnum == 0)
        return gc__os_trouble(library, "Build the library again", "its header is damaged: %u parts of %u bytes each",
                              header.e_phnum, header.e_phentsize);
    for (uint64_t i = 0; i < header.e_phnum; i++) {
        uint64_t at = header.e_phoff + i * sizeof part;
        if (at < header.e_phoff) return gc__elf_is_cut(library, UINT64_MAX);
        if (!gc__elf_read(library, &part, sizeof part, at)) return false;
        if (!gc__elf_has(library, part.p_offset, part.p_filesz)) return false;
        library->is_started |= part.p_type == PT_INTERP;
    }
    return !header.e_shoff || gc__elf_has(library, header.e_shoff, (uint64_t)header.e_shnum * header.e_shentsize);
}

/* Checks the header of an open library. */
GC__FN bool gc__elf_check(gc__os_library *library) {
    unsigned char start[20] = {0};
    ssize_t bytes = pread(library->file, start, sizeof start, 0);
    if (bytes < 0)
        return gc__os_trouble(library, "Copy the library to another disk", "it cannot be read: %s", strerror(errno));
    if (!gc__elf_is_elf(library, start, (size_t)bytes)) return false;
    if ((size_t)bytes < sizeof start) return gc__elf_is_cut(library, sizeof(Elf64_Ehdr));
    return gc__elf_is_for_us(library, start) && gc__elf_is_whole(library);
}
