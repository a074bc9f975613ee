#include "symbols.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file that may be damaged: every piece is read by `piece`. */
typedef struct elf_file {
    FILE *file;
    Elf64_Ehdr header;
} elf_file;

enum { SECTIONS_MAX = 10000 };
#define PIECE_BYTES_MAX ((uint64_t)1 << 30)

/* The bytes [offset, offset + bytes) of the file, and a 0; NULL: it has not all of them. */
static void *piece(const elf_file *elf, uint64_t offset, uint64_t bytes) {
    if (bytes > PIECE_BYTES_MAX || offset > INT64_MAX / 2 || fseeko(elf->file, (off_t)offset, SEEK_SET)) return NULL;
    char *memory = malloc((size_t)bytes + 1);
    if (memory && fread(memory, 1, (size_t)bytes, elf->file) == bytes) {
        memory[bytes] = 0;
        return memory;
    }
    free(memory);
    return NULL;
}

/* The address that the linker gave to what is at the offset; UINT64_MAX: no segment has it. */
static uint64_t linked_address(const elf_file *elf, uint64_t offset) {
    Elf64_Phdr *segments = elf->header.e_phentsize == sizeof *segments
                               ? piece(elf, elf->header.e_phoff, elf->header.e_phnum * sizeof *segments)
                               : NULL;
    uint64_t address = UINT64_MAX;
    for (unsigned i = 0; segments && i < elf->header.e_phnum; i++)
        /* A page of a segment may begin before it in the file, and end after it in memory. */
        if (segments[i].p_type == PT_LOAD && offset >= (segments[i].p_offset & ~UINT64_C(4095)) &&
            offset - (segments[i].p_offset & ~UINT64_C(4095)) < segments[i].p_memsz + 4096)
            address = offset - segments[i].p_offset + segments[i].p_vaddr;
    free(segments);
    return address;
}

/* Looks for the address in one symbol table. */
static bool find_in_table(const elf_file *elf, const Elf64_Shdr *table, const Elf64_Shdr *strings, uint64_t address,
                          char *name, size_t room) {
    Elf64_Sym *symbols = piece(elf, table->sh_offset, table->sh_size);
    char *texts = piece(elf, strings->sh_offset, strings->sh_size);
    bool found = false;
    for (uint64_t i = 0; symbols && texts && !found && i < table->sh_size / sizeof *symbols; i++) {
        const Elf64_Sym *symbol = &symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || address - symbol->st_value >= symbol->st_size) continue;
        if (symbol->st_name >= strings->sh_size) continue;
        found = true;
        uint64_t offset = address - symbol->st_value;
        snprintf(name, room, offset ? "%s+%" PRIu64 : "%s", texts + symbol->st_name, offset);
    }
    free(symbols), free(texts);
    return found;
}

/* Whether the target has the file's first page, where the file would have it with that distance between linked and real addresses:
   a program that was built anew since has other ones. */
static bool is_loaded(gc_dac *dac, const elf_file *elf, uint64_t distance) {
    unsigned char loaded[4096];
    uint64_t first = linked_address(elf, 0);
    unsigned char *page = first != UINT64_MAX ? piece(elf, 0, sizeof loaded) : NULL;
    bool same = page && gc_dac_read(dac, first + distance, loaded, sizeof loaded) == sizeof loaded && memcmp(page, loaded, sizeof loaded) == 0;
    free(page);
    return same;
}

static void find_in_file(gc_dac *dac, const elf_file *elf, uint64_t real, uint64_t offset, char *name, size_t room) {
    uint64_t address = linked_address(elf, offset);
    if (address == UINT64_MAX || !is_loaded(dac, elf, real - address)) return;
    const Elf64_Ehdr *header = &elf->header;
    Elf64_Shdr *sections = header->e_shentsize == sizeof *sections && header->e_shnum < SECTIONS_MAX
                               ? piece(elf, header->e_shoff, header->e_shnum * sizeof *sections)
                               : NULL;
    bool found = false;
    for (unsigned i = 0; sections && !found && i < header->e_shnum; i++) {
        const Elf64_Shdr *table = &sections[i];
        if ((table->sh_type == SHT_SYMTAB || table->sh_type == SHT_DYNSYM) && table->sh_link < header->e_shnum)
            found = find_in_table(elf, table, &sections[table->sh_link], address, name, room);
    }
    free(sections);
}

void symbol_name(gc_dac *dac, const char *root, uint64_t address, char *name, size_t room) {
    gc_dac_mapping mapping;
    char path[4096];
    elf_file elf;
    *name = 0;
    if (!gc_dac_mapping_at(dac, address, &mapping) || !mapping.path || mapping.path[0] != '/') return;
    snprintf(path, sizeof path, "%s%s", root ? root : "", mapping.path);
    elf.file = fopen(path, "rb");
    if (!elf.file) return;
    if (fread(&elf.header, 1, sizeof elf.header, elf.file) == sizeof elf.header &&
        memcmp(elf.header.e_ident, ELFMAG, SELFMAG) == 0 && elf.header.e_ident[EI_CLASS] == ELFCLASS64)
        find_in_file(dac, &elf, address, address - mapping.start + mapping.file_offset, name, room);
    fclose(elf.file);
}
