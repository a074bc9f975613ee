/* Files of programs in memory, on Linux: their sections, symbols and build ids. Nothing that they say is trusted: from
   a damaged file fewer of these are read. */
#pragma once

/* Two shipped headers include this file, and a program may include both. */
#ifndef GC__IMAGE_FN
#define GC__IMAGE_FN static __attribute__((unused, cold))

#if (defined(GC_DAC_IMPLEMENTATION) || defined(GC_IMPLEMENTATION)) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* declares O_CLOEXEC, also under -std=c11 */
#endif

#ifdef __linux__
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GC__IMAGE_PATH 4096

#define GC__IMAGE_RISCV 243 /* not every C library names it */
#if defined(__x86_64__)
#define GC__IMAGE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define GC__IMAGE_MACHINE EM_AARCH64
#elif defined(__riscv)
#define GC__IMAGE_MACHINE GC__IMAGE_RISCV
#elif defined(__s390x__)
#define GC__IMAGE_MACHINE EM_S390
#elif defined(__powerpc64__)
#define GC__IMAGE_MACHINE EM_PPC64
#else
#define GC__IMAGE_MACHINE EM_NONE
#endif
#define GC__IMAGE_ORDER (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

/* A file in memory, read only. */
typedef struct gc__image {
    const uint8_t *bytes;
    size_t size;
} gc__image;

#define GC__IMAGE_NO_FILE (-1) /* the path is not that of a regular file */
#define GC__IMAGE_EMPTY (-2)

/* Maps a regular file. Returns 0, the number of the system's error, or one of these constants. Safe in a fault
   handler. */
GC__IMAGE_FN int gc__image_open(const char *path, gc__image *image) {
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), fault = fd < 0 ? errno : 0;
    image->bytes = NULL;
    image->size = 0;
    if (!fault && fstat(fd, &status) != 0) fault = errno;
    if (!fault && !S_ISREG(status.st_mode)) fault = GC__IMAGE_NO_FILE;
    if (!fault && status.st_size == 0) fault = GC__IMAGE_EMPTY;
    if (!fault) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED) fault = errno;
        if (!fault) image->bytes = (const uint8_t *)bytes, image->size = (size_t)status.st_size;
    }
    if (fd >= 0) close(fd);
    return fault;
}

/* Maps a regular file. Returns NULL, or why that is impossible. */
GC__IMAGE_FN const char *gc__image_map(const char *path, gc__image *image) {
    int fault = gc__image_open(path, image);
    if (fault == GC__IMAGE_NO_FILE) return "it is no regular file";
    if (fault == GC__IMAGE_EMPTY) return "it is empty";
    return fault ? strerror(fault) : NULL;
}

GC__IMAGE_FN void gc__image_unmap(gc__image *image) {
    if (image->bytes) munmap((void *)(uintptr_t)image->bytes, image->size);
    image->bytes = NULL;
    image->size = 0;
}

GC__IMAGE_FN bool gc__image_has(const gc__image *image, uint64_t offset, uint64_t bytes) {
    return offset <= image->size && bytes <= image->size - offset;
}

/* Returns the build id among notes; NULL if there is none. */
GC__IMAGE_FN const uint8_t *gc__image_id_in(const uint8_t *notes, uint64_t bytes, uint64_t alignment, size_t *length) {
    const uint64_t unit = alignment == 8 ? 8 : 4;
    uint64_t from = 0;
    Elf64_Nhdr note;
    while (from <= bytes && bytes - from >= sizeof note) {
        memcpy(&note, notes + from, sizeof note);
        uint64_t name = from + sizeof note, contents = name + ((note.n_namesz + unit - 1) & ~(unit - 1));
        if (contents > bytes || note.n_descsz > bytes - contents) return NULL;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
            *length = note.n_descsz;
            return notes + contents;
        }
        from = contents + ((note.n_descsz + unit - 1) & ~(unit - 1));
    }
    return NULL;
}

/* Reads part `i` of the program headers; returns false if there are fewer. */
GC__IMAGE_FN bool gc__image_part(const gc__image *image, unsigned i, Elf64_Phdr *part) {
    Elf64_Ehdr header;
    if (!gc__image_has(image, 0, sizeof header)) return false;
    memcpy(&header, image->bytes, sizeof header);
    uint64_t at = header.e_phoff + (uint64_t)i * sizeof *part;
    if (i >= header.e_phnum || header.e_phentsize != sizeof *part || at < header.e_phoff) return false;
    if (!gc__image_has(image, at, sizeof *part)) return false;
    memcpy(part, image->bytes + at, sizeof *part);
    return true;
}

/* Returns the build id of the file; NULL if it has none. The image may be only the beginning of the file. */
GC__IMAGE_FN const uint8_t *gc__image_build_id(const gc__image *image, size_t *length) {
    Elf64_Phdr part;
    for (unsigned i = 0; gc__image_part(image, i, &part); i++) {
        if (part.p_type != PT_NOTE || !gc__image_has(image, part.p_offset, part.p_filesz)) continue;
        const uint8_t *id = gc__image_id_in(image->bytes + part.p_offset, part.p_filesz, part.p_align, length);
        if (id) return id;
    }
    return NULL;
}

/* Reads section `i`, whose contents are in the file. Returns false if there are fewer, or the file is not a 64-bit ELF
   file. A section with incomplete contents counts as empty. */
GC__IMAGE_FN bool gc__image_section(const gc__image *image, uint64_t i, Elf64_Shdr *section) {
    Elf64_Ehdr header;
    if (!gc__image_has(image, 0, sizeof header)) return false;
    memcpy(&header, image->bytes, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != GC__IMAGE_ORDER || header.e_shentsize != sizeof *section || !header.e_shoff)
        return false;
    uint64_t count = header.e_shnum;
    if (!gc__image_has(image, header.e_shoff, sizeof *section)) return false;
    memcpy(section, image->bytes + header.e_shoff, sizeof *section);
    if (!count) count = section->sh_size; /* more than a half word can hold */
    if (i >= count || i > image->size / sizeof *section) return false;
    if (!gc__image_has(image, header.e_shoff, (i + 1) * sizeof *section)) return false;
    memcpy(section, image->bytes + header.e_shoff + i * sizeof *section, sizeof *section);
    if (section->sh_type == SHT_NOBITS || !gc__image_has(image, section->sh_offset, section->sh_size))
        section->sh_size = section->sh_offset = 0;
    return true;
}

/* Finds the first section of that type; returns false if there is none. */
GC__IMAGE_FN bool gc__image_section_of_type(const gc__image *image, uint32_t type, Elf64_Shdr *section) {
    for (uint64_t i = 0; gc__image_section(image, i, section); i++)
        if (section->sh_type == type && section->sh_size) return true;
    return false;
}

/* Returns a text in a section of texts; NULL if there is none. */
GC__IMAGE_FN const char *gc__image_text(const gc__image *image, const Elf64_Shdr *texts, uint64_t offset) {
    if (offset >= texts->sh_size) return NULL;
    const char *text = (const char *)image->bytes + texts->sh_offset + offset;
    return memchr(text, 0, texts->sh_size - offset) ? text : NULL;
}

GC__IMAGE_FN bool gc__image_section_named(const gc__image *image, const char *name, Elf64_Shdr *section) {
    Elf64_Ehdr header;
    Elf64_Shdr texts;
    if (!gc__image_section(image, 0, section)) return false;
    memcpy(&header, image->bytes, sizeof header);
    uint64_t names = header.e_shstrndx == SHN_XINDEX ? section->sh_link : header.e_shstrndx;
    if (!gc__image_section(image, names, &texts)) return false;
    for (uint64_t i = 0; gc__image_section(image, i, section); i++) {
        const char *text = gc__image_text(image, &texts, section->sh_name);
        if (text && strcmp(text, name) == 0) return true;
    }
    return false;
}

/* A table of symbols. */
typedef struct gc__image_symbols {
    const gc__image *image;
    Elf64_Shdr table, texts;
    uint64_t count;
} gc__image_symbols;

/* Opens the file's .symtab, or if it has none its .dynsym; returns false if it has neither. */
GC__IMAGE_FN bool gc__image_symbols_open(gc__image_symbols *symbols, const gc__image *image) {
    symbols->image = image;
    symbols->count = 0;
    if (!gc__image_section_of_type(image, SHT_SYMTAB, &symbols->table) &&
        !gc__image_section_of_type(image, SHT_DYNSYM, &symbols->table))
        return false;
    if (!gc__image_section(image, symbols->table.sh_link, &symbols->texts)) return false;
    symbols->count = symbols->table.sh_size / sizeof(Elf64_Sym);
    return true;
}

/* Sets of symbol types, with a bit for each. */
#define GC__IMAGE_CODE (1u << STT_FUNC | 1u << STT_GNU_IFUNC | 1u << STT_NOTYPE)
#define GC__IMAGE_DATA (1u << STT_OBJECT)

/* Reads symbol `i`, and returns its name; NULL if it has none, or is of none of these types. */
GC__IMAGE_FN const char *gc__image_symbol(const gc__image_symbols *symbols, uint64_t i, unsigned types,
                                          Elf64_Sym *symbol) {
    memcpy(symbol, symbols->image->bytes + symbols->table.sh_offset + i * sizeof *symbol, sizeof *symbol);
    if (!(types >> ELF64_ST_TYPE(symbol->st_info) & 1) || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS)
        return NULL;
    const char *name = gc__image_text(symbols->image, &symbols->texts, symbol->st_name);
    return name && *name ? name : NULL;
}
#endif
#endif
