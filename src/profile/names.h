/* Names of native code: the symbols of files are read when a profile is written. Code of no file has the names that the host,
   or some compiler in this process, has given it in a perf map. */
#pragma once

#include "../platform/file_linux.h"
#include "../platform/symbols.h"
#include "modules.h"

/* Maps the file of a module; what is no file is copied. False: it cannot be. */
GC__FN bool gc__names_map(const gc__profile_module *module, const char *path, gc__image *image) {
    if (strcmp(path, GC__OS_NO_FILE) != 0) return !gc__image_map(path, image);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(module->start - module->offset);
    size_t bytes = module->end - (uintptr_t)header, all = header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr);
    /* The list of sections may lie in pages behind the code. */
    if (all > bytes && (errno = 0, gc__os_is_mapped(header, all)) && !errno) bytes = all;
    void *copy = gc__os_map(bytes);
    if (!copy) return false;
    memcpy(copy, header, bytes);
    image->bytes = (const uint8_t *)copy;
    image->size = bytes;
    return true;
}

/* Opens the symbols of a module. False: its file is not there, or is another one than was loaded. */
GC__FN bool gc__names_open(gc__profile *profile, uint32_t number, gc__symbols *symbols) {
    const gc__profile_module *module = &profile->modules[number];
    const char *path = gc__profile_text(profile, module->file);
    memset(symbols, 0, sizeof *symbols);
    if (!gc__names_map(module, number == 1 ? GC__OS_PROGRAM_FILE : path, &symbols->image)) return false;
    size_t length = 0;
    const uint8_t *id = gc__image_build_id(&symbols->image, &length);
    if (module->build_id && gc__modules_hex(profile, id, length) != module->build_id) {
        gc__symbols_close(symbols);
        return false;
    }
    gc__symbols_list(symbols, path, GC__IMAGE_CODE);
    return true;
}

/* Of the library of C++, if the program is linked with it. */
extern char *gc__names_demangle(const char *name, char *buffer, size_t *bytes, int *status) __asm__("__cxa_demangle")
    __attribute__((weak));

/* A symbol's name as its language has it, if this process has C++'s library; else as it is. */
GC__FN uint32_t gc__names_add(gc__profile *profile, const char *symbol) {
    int status = 0;
    char *name = strncmp(symbol, "_Z", 2) == 0 && gc__names_demangle != 0
                     ? gc__names_demangle(symbol, NULL, NULL, &status)
                     : NULL;
    uint32_t text = gc__profile_text_add(profile, name ? name : symbol);
    free(name);
    return text;
}

GC__FN void gc__names_use(gc__profile *profile, gc__profile_frame *frame, const gc__symbols *symbols) {
    const gc__profile_module *module = &profile->modules[frame->module];
    uint64_t address = gc__symbols_address(symbols, frame->pc - module->start + module->offset);
    const gc__symbol *symbol = gc__symbols_find(symbols, address);
    if (!symbol) return;
    frame->name = gc__names_add(profile, symbol->name);
    frame->name_start = frame->pc - (uintptr_t)(address - symbol->start);
}

/* A frame of code that the host has named. */
GC__FN void gc__names_use_code(const gc__profile *profile, gc__profile_frame *frame) {
    const gc__profile_code *code = &profile->codes[frame->code];
    frame->name = code->name;
    frame->name_start = code->start;
    for (uint32_t i = 0; i < code->line_count; i++) {
        const gc__profile_line *line = &profile->lines[code->first_line + i];
        if (line->address > frame->pc) return;
        frame->line = line->line;
        frame->file = line->file;
    }
}

/* Lists what a perf map names, which the text is: lines "START BYTES NAME". A line's end becomes a 0. Of two lines for one
   place the later one holds. */
GC__FN void gc__names_list_map(gc__symbols *symbols, char *text) {
    for (char *line = text; line && symbols->count * sizeof *symbols->list < symbols->capacity_bytes;) {
        char *end = strchr(line, '\n'), *at, *name;
        if (end) *end = 0;
        unsigned long long start = strtoull(line, &at, 16), bytes = strtoull(at, &name, 16);
        bool right = at > line && *at == ' ' && name > at && *name == ' ' && name[1] && bytes;
        gc__symbol symbol = {start, bytes, name + right, UINT32_MAX - (uint32_t)symbols->count};
        if (right) symbols->list[symbols->count++] = symbol;
        line = end ? end + 1 : NULL;
    }
    gc__symbols_sort(symbols);
}

/* Opens a perf map. False: there is none that can be read. */
GC__FN bool gc__names_open_map(gc__symbols *symbols, const char *path) {
    gc__image file;
    memset(symbols, 0, sizeof *symbols);
    if (gc__image_map(path, &file)) return false;
    char *text = (char *)gc__os_map(file.size + 1);
    size_t lines = 1;
    for (size_t i = 0; i < file.size; i++) lines += file.bytes[i] == '\n';
    symbols->capacity_bytes = lines * sizeof *symbols->list;
    symbols->list = text ? (gc__symbol *)gc__os_map(symbols->capacity_bytes) : NULL;
    symbols->image.bytes = (const uint8_t *)text;
    symbols->image.size = file.size + 1;
    if (symbols->list) memcpy(text, file.bytes, file.size);
    gc__image_unmap(&file);
    if (symbols->list)
        gc__names_list_map(symbols, text);
    else
        gc__symbols_close(symbols);
    return symbols->list != NULL;
}

/* Names frames of code that is in no file. */
GC__FN void gc__names_use_map(gc__profile *profile) {
    gc__symbols symbols;
    char path[64];
    bool is_open = false;
    snprintf(path, sizeof path, GC__PERF_MAP, profile->process);
    for (size_t i = 1; i < profile->frames_count; i++) {
        gc__profile_frame *frame = &profile->frames[i];
        if (!frame->pc || frame->code || frame->module) continue;
        if (!is_open && !gc__names_open_map(&symbols, path)) return;
        is_open = true;
        const gc__symbol *symbol = gc__symbols_find(&symbols, frame->pc);
        if (!symbol) continue;
        frame->name = gc__profile_text_add(profile, symbol->name);
        frame->name_start = symbol->start;
    }
    if (is_open) gc__symbols_close(&symbols);
}

/* Finds for each native frame its name, module, file and line, and all modules. It runs in a copy of the profile, by the thread
   that writes, and may take long. */
GC__FN void gc__names_find(gc__profile *profile) {
    gc__symbols symbols;
    gc__modules_add(profile);
    for (size_t i = 1; i < profile->frames_count; i++) {
        gc__profile_frame *frame = &profile->frames[i];
        if (frame->code)
            gc__names_use_code(profile, frame);
        else if (frame->pc && !frame->module)
            frame->module = gc__modules_of(profile, frame->pc);
    }
    for (uint32_t module = 1; module < profile->modules_count; module++) {
        bool is_open = false;
        for (size_t i = 1; i < profile->frames_count; i++) {
            if (profile->frames[i].module != module) continue;
            if (!is_open && !gc__names_open(profile, module, &symbols)) break;
            is_open = true;
            gc__names_use(profile, &profile->frames[i], &symbols);
        }
        if (is_open) gc__symbols_close(&symbols);
    }
    gc__names_use_map(profile);
}
