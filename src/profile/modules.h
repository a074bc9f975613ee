/* The files of native code that have been loaded. They are noted as soon as that shows, since they may be gone when a profile is
   written. */
#pragma once

#include "../platform/stack_linux.h"
#include "store.h"

GC__FN uint32_t gc__modules_hex(gc__profile *profile, const uint8_t *bytes, size_t count) {
    char text[2 * 64 + 1] = "";
    if (!bytes || count > 64) return 0;
    for (size_t i = 0; i < count; i++) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return gc__profile_text_add(profile, text);
}

/* Adds a file's code, unless the profile has it already. */
GC__FN void gc__modules_add_one(void *context, const gc__os_code *code) {
    gc__profile *profile = (gc__profile *)context;
    char program[GC__IMAGE_PATH];
    if (!*code->path) gc__os_program_path(program, sizeof program);
    uint32_t file = gc__profile_text_add(profile, *code->path ? code->path : program);
    uint32_t build_id = gc__modules_hex(profile, code->build_id, code->build_id_bytes);
    for (size_t i = 1; i < profile->modules_count; i++) {
        gc__profile_module *module = &profile->modules[i];
        if (module->start != code->start || module->file != file || module->build_id != build_id) continue;
        module->listed = profile->lists;
        return;
    }
    gc__profile_module *module = GC__PROFILE_APPEND(profile, modules);
    if (!module) return;
    module->start = code->start;
    module->end = code->end;
    module->offset = code->offset;
    module->file = file;
    module->build_id = build_id;
    module->listed = profile->lists;
}

/* Adds the files that have been loaded; to be called when gc__os_file_changes has changed. */
GC__FN void gc__modules_add(gc__profile *profile) {
    profile->lists++;
    gc__os_each_code(gc__modules_add_one, profile);
}

/* The module that has the pc: of several, the one that was loaded last. 0: none. */
GC__FN uint32_t gc__modules_of(const gc__profile *profile, uintptr_t pc) {
    uint32_t found = 0;
    for (uint32_t i = 1; i < profile->modules_count; i++) {
        const gc__profile_module *module = &profile->modules[i];
        if (pc - module->start >= module->end - module->start) continue;
        if (!found || module->listed > profile->modules[found].listed) found = i;
    }
    return found;
}
