/* The symbols of one file of native code, by address: for reports, and for profiles. All functions are safe in a fault
   handler: they take no lock, and get memory from the system only. */
#pragma once

#include "image.h"

#ifdef __linux__
#include <stdio.h>

typedef struct gc__symbol {
    uint64_t start, bytes; /* as addresses of the file; 0 bytes: the file does not say how many */
    const char *name;
    uint32_t rank; /* of symbols with the same address, the one with the lowest rank is used */
} gc__symbol;

typedef struct gc__symbols {
    gc__image image, debug; /* the file, and the one with its debugging symbols, if it has one */
    gc__symbol *list;       /* ascending */
    size_t count, capacity_bytes;
} gc__symbols;

/* The folder where debugging symbols are installed. */
#ifndef GC__VAR
#define GC__VAR static
#endif
GC__VAR const char *gc__symbols_folder = "/usr/lib/debug";

GC__IMAGE_FN uint32_t gc__symbol_rank(const Elf64_Sym *symbol, const char *name) {
    unsigned binding = ELF64_ST_BIND(symbol->st_info);
    uint32_t rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
    while (*name == '_' && rank < 64) name++, rank += 4;
    return rank + (ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE ? 128 : 0);
}

GC__IMAGE_FN bool gc__symbol_is_before(const gc__symbol *a, const gc__symbol *b) {
    return a->start != b->start ? a->start < b->start : a->rank < b->rank;
}

/* Lets the symbol at `i` sink in a heap of `count` symbols, none of which is before those at 2 i + 1 and 2 i + 2. */
GC__IMAGE_FN void gc__symbols_sink(gc__symbol *list, size_t i, size_t count) {
    gc__symbol sinks = list[i];
    for (size_t below; (below = 2 * i + 1) < count; i = below) {
        if (below + 1 < count && gc__symbol_is_before(&list[below], &list[below + 1])) below++;
        if (!gc__symbol_is_before(&sinks, &list[below])) break;
        list[i] = list[below];
    }
    list[i] = sinks;
}

/* Sorts symbols by address and rank, in place, unlike qsort of some C libraries. */
GC__IMAGE_FN void gc__symbols_sort(gc__symbols *symbols) {
    for (size_t i = symbols->count / 2; i-- > 0;) gc__symbols_sink(symbols->list, i, symbols->count);
    for (size_t last = symbols->count; last-- > 1;) {
        gc__symbol highest = symbols->list[0];
        symbols->list[0] = symbols->list[last];
        symbols->list[last] = highest;
        gc__symbols_sink(symbols->list, 0, last);
    }
}

/* Returns the checksum by which a link to a file with debugging symbols identifies it. */
GC__IMAGE_FN uint32_t gc__symbols_sum(const gc__image *image) {
    uint32_t table[256], sum = UINT32_MAX;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xEDB88320u : 0);
    }
    for (size_t i = 0; i < image->size; i++) sum = sum >> 8 ^ table[(sum ^ image->bytes[i]) & 255];
    return ~sum;
}

GC__IMAGE_FN bool gc__symbols_same_id(const gc__image *a, const gc__image *b) {
    size_t length, other;
    const uint8_t *id = gc__image_build_id(a, &length), *id_of_other = gc__image_build_id(b, &other);
    return id && id_of_other && length == other && memcmp(id, id_of_other, length) == 0;
}

/* Opens the file with debugging symbols if it exists and is the right one, by its build id or by the checksum. */
GC__IMAGE_FN bool gc__symbols_try(gc__symbols *symbols, const char *path, const uint32_t *sum) {
    Elf64_Shdr table;
    if (gc__image_open(path, &symbols->debug)) return false;
    bool right =
        gc__symbols_same_id(&symbols->image, &symbols->debug) || (sum && gc__symbols_sum(&symbols->debug) == *sum);
    if (right && gc__image_section_of_type(&symbols->debug, SHT_SYMTAB, &table)) return true;
    gc__image_unmap(&symbols->debug);
    return false;
}

GC__IMAGE_FN bool gc__symbols_try_id(gc__symbols *symbols) {
    char path[GC__IMAGE_PATH];
    size_t length = 0;
    const uint8_t *id = gc__image_build_id(&symbols->image, &length);
    if (!id || length < 2 || length > 64) return false;
    int at = snprintf(path, sizeof path, "%s/.build-id/%02x/", gc__symbols_folder, id[0]);
    if (at < 0 || (size_t)at + 2 * length + sizeof ".debug" > sizeof path) return false;
    for (size_t i = 1; i < length; i++) at += snprintf(path + at, 3, "%02x", id[i]);
    strcpy(path + at, ".debug");
    return gc__symbols_try(symbols, path, NULL);
}

/* Opens the file that a section names, which is next to the first one, in a folder there, or among the installed
   ones. */
GC__IMAGE_FN bool gc__symbols_try_link(gc__symbols *symbols, const char *file) {
    static const char *const forms[] = {"%s%.*s%s", "%s%.*s.debug/%s", "%s%.*s%s"};
    Elf64_Shdr section;
    char path[GC__IMAGE_PATH];
    uint32_t sum;
    if (!gc__image_section_named(&symbols->image, ".gnu_debuglink", &section)) return false;
    const char *name = gc__image_text(&symbols->image, &section, 0), *slash = strrchr(file, '/');
    if (!name || !*name || strchr(name, '/')) return false;
    uint64_t at = (strlen(name) + 4) & ~(uint64_t)3;
    if (at + sizeof sum > section.sh_size) return false;
    memcpy(&sum, symbols->image.bytes + section.sh_offset + at, sizeof sum);
    int folder = slash ? (int)(slash - file) + 1 : 0;
    for (int i = 0; i < 3; i++) {
        int length = snprintf(path, sizeof path, forms[i], i == 2 ? gc__symbols_folder : "", folder, file, name);
        if (length < 0 || (size_t)length >= sizeof path || strcmp(path, file) == 0) continue;
        if (gc__symbols_try(symbols, path, &sum)) return true;
    }
    return false;
}

GC__IMAGE_FN void gc__symbols_close(gc__symbols *symbols) {
    if (symbols->list) munmap(symbols->list, symbols->capacity_bytes);
    gc__image_unmap(&symbols->debug);
    gc__image_unmap(&symbols->image);
    memset(symbols, 0, sizeof *symbols);
}

/* Removes labels within functions from the list. */
GC__IMAGE_FN void gc__symbols_drop_labels(gc__symbols *symbols) {
    size_t kept = 0;
    uint64_t start = 0, bytes = 0; /* of the last function */
    for (size_t i = 0; i < symbols->count; i++) {
        gc__symbol symbol = symbols->list[i];
        if (!symbol.bytes && symbol.start != start && symbol.start - start < bytes) continue;
        if (symbol.bytes) start = symbol.start, bytes = symbol.bytes;
        symbols->list[kept++] = symbol;
    }
    symbols->count = kept;
}

/* Lists the symbols of these types in the file that was mapped from the path. Damaged parts of the file are skipped. */
GC__IMAGE_FN void gc__symbols_list(gc__symbols *symbols, const char *path, unsigned types) {
    gc__image_symbols table;
    Elf64_Shdr own;
    bool has_own = gc__image_section_of_type(&symbols->image, SHT_SYMTAB, &own);
    bool elsewhere = !has_own && (gc__symbols_try_id(symbols) || gc__symbols_try_link(symbols, path));
    if (!gc__image_symbols_open(&table, elsewhere ? &symbols->debug : &symbols->image) || !table.count) return;
    size_t bytes = table.count * sizeof *symbols->list;
    void *list = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED) return;
    symbols->list = (gc__symbol *)list;
    symbols->capacity_bytes = bytes;
    for (uint64_t i = 0; i < table.count; i++) {
        Elf64_Sym found;
        const char *name = gc__image_symbol(&table, i, types, &found);
        if (!name) continue;
        gc__symbol symbol = {found.st_value, found.st_size, name, gc__symbol_rank(&found, name)};
        symbols->list[symbols->count++] = symbol;
    }
    gc__symbols_sort(symbols);
    gc__symbols_drop_labels(symbols);
}

/* Returns the address, in the file's own numbering, of what is at an offset in it; 0 if nothing is loaded from
   there. */
GC__IMAGE_FN uint64_t gc__symbols_address(const gc__symbols *symbols, uint64_t offset) {
    Elf64_Phdr part;
    for (unsigned i = 0; gc__image_part(&symbols->image, i, &part); i++)
        if (part.p_type == PT_LOAD && offset - part.p_offset < part.p_filesz)
            return part.p_vaddr + (offset - part.p_offset);
    return 0;
}

#define GC__SYMBOLS_BACK 256 /* symbols that begin between a function's start and a place in it */

/* Returns the symbol that contains the address; NULL if there is none. A symbol without a size reaches to the next
   symbol, unless another one covers the address. */
GC__IMAGE_FN const gc__symbol *gc__symbols_find(const gc__symbols *symbols, uint64_t address) {
    size_t low = 0, high = symbols->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (symbols->list[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const gc__symbol *best = NULL;
    for (size_t i = low; i-- > 0 && low - i <= GC__SYMBOLS_BACK && (!best || symbols->list[i].start == best->start);)
        if (address - symbols->list[i].start < symbols->list[i].bytes) best = &symbols->list[i];
    for (size_t i = low; !best && i-- > 0 && symbols->list[i].start == symbols->list[low - 1].start;)
        if (!symbols->list[i].bytes) best = &symbols->list[i];
    return best;
}
#endif
