/* Names of native code. Files are recorded as they are loaded, since they may be gone when a profile is written; their symbols
   are read when one is. */
#pragma once

#include "../platform/stack_linux.h"
#include "store.h"
#include "symbols.h"

GC__FN uint32_t gc__names_hex(gc__profile *profile, const uint8_t *bytes, size_t count) {
    char text[2 * 64 + 1] = "";
    if (!bytes || count > 64) return 0;
    for (size_t i = 0; i < count; i++) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return gc__profile_text_add(profile, text);
}

/* Adds a file's code, unless the profile has it already. */
GC__FN void gc__names_add_module(void *context, const gc__os_code *code) {
    gc__profile *profile = (gc__profile *)context;
    char program[GC__IMAGE_PATH];
    if (!*code->path) gc__os_program_path(program, sizeof program);
    uint32_t file = gc__profile_text_add(profile, *code->path ? code->path : program);
    uint32_t build_id = gc__names_hex(profile, code->build_id, code->build_id_bytes);
    for (size_t i = 1; i < profile->modules_count; i++) {
        const gc__profile_module *module = &profile->modules[i];
        if (module->start == code->start && module->file == file && module->build_id == build_id) return;
    }
    gc__profile_module *module = GC__PROFILE_APPEND(profile, modules);
    if (!module) return;
    module->start = code->start;
    module->end = code->end;
    module->offset = code->offset;
    module->file = file;
    module->build_id = build_id;
}

/* Adds the files that have been loaded; to be called when gc__os_file_changes has changed. */
GC__FN void gc__names_add_modules(gc__profile *profile) { gc__os_each_code(gc__names_add_module, profile); }

/* The module that has the pc: of several, the one that was loaded last. 0: none. */
GC__FN uint32_t gc__names_module_of(const gc__profile *profile, uintptr_t pc) {
    for (size_t i = profile->modules_count; i-- > 1;)
        if (pc - profile->modules[i].start < profile->modules[i].end - profile->modules[i].start) return (uint32_t)i;
    return 0;
}

/* Maps the file of a module; what is no file is copied. False: it cannot be. */
GC__FN bool gc__names_map(const gc__profile_module *module, const char *path, gc__image *image) {
    if (strcmp(path, GC__OS_NO_FILE) != 0) return !gc__image_map(path, image);
    size_t bytes = module->end - (module->start - module->offset);
    void *copy = gc__os_map(bytes);
    if (!copy) return false;
    memcpy(copy, (const void *)(module->start - module->offset), bytes);
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
    if (module->build_id && gc__names_hex(profile, id, length) != module->build_id) {
        gc__symbols_close(symbols);
        return false;
    }
    gc__symbols_list(symbols, path);
    return true;
}

GC__FN void gc__names_use(gc__profile *profile, gc__profile_frame *frame, const gc__symbols *symbols) {
    const gc__profile_module *module = &profile->modules[frame->module];
    uint64_t address = gc__symbols_address(symbols, frame->pc - module->start + module->offset);
    const gc__symbol *symbol = gc__symbols_find(symbols, address);
    if (!symbol) return;
    frame->name = gc__profile_text_add(profile, symbol->name);
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

/* Finds for each native frame its name, module, file and line, and all modules. It runs in a copy of the profile, by the thread
   that writes, and may take long. */
GC__FN void gc__names_find(gc__profile *profile) {
    gc__symbols symbols;
    gc__names_add_modules(profile);
    for (size_t i = 1; i < profile->frames_count; i++) {
        gc__profile_frame *frame = &profile->frames[i];
        if (frame->code)
            gc__names_use_code(profile, frame);
        else if (frame->pc)
            frame->module = gc__names_module_of(profile, frame->pc);
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
}
