/* Finding, checking and loading the library that the environment names. */
#pragma once

#include "../api/standalone.h"
#include "../base/report.h"
#include "../platform/elf_linux.h"

/* A library on its way into the program. Its path and what is wrong with it are in `library`. */
typedef struct gc__load {
    const char *variable, *value; /* which setting named it; NULL: none */
    const char *step;             /* the one that failed, as a clause */
    gc__os_library library;
    void *version_info, *initialize; /* the two symbols */
} gc__load;

typedef struct gc__load_setting {
    const char *variable;
    bool is_name, is_path; /* what it may be */
} gc__load_setting;

GC__FN bool gc__load_has_parent(const char *path) {
    for (const char *at = path; (at = strstr(at, "..")); at += 2)
        if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2])) return true;
    return false;
}

/* Whether the value is a name in the program's folder or an absolute path, whichever the setting takes. */
GC__FN bool gc__load_check_value(gc__load *load, const gc__load_setting *setting) {
    const char *value = load->value;
    if (*value == '/' && !setting->is_path)
        return gc__os_trouble(&load->library, "Set " GC_STANDALONE_PATH_VARIABLE " to the path instead",
                              "the variable takes the name of a file beside the program, no path");
    if (*value != '/' && !setting->is_name)
        return gc__os_trouble(&load->library, "Begin the path with a slash",
                              "the variable takes an absolute path: a relative one would depend on the current folder");
    if (*value != '/' && strchr(value, '/'))
        return gc__os_trouble(&load->library,
                              "Set " GC_STANDALONE_PATH_VARIABLE " to the absolute path of the file instead",
                              "a name must not contain a slash, for it is looked for beside the program alone");
    if (gc__load_has_parent(value))
        return gc__os_trouble(&load->library, "Write the path without `..`", "it leaves its folder by `..`");
    if (value[strlen(value) - 1] == '/')
        return gc__os_trouble(&load->library, "Name the file", "it ends in a slash, so it names a folder");
    return true;
}

/* Reads the settings. True: at most one names a library. */
GC__FN bool gc__load_read_settings(gc__load *load) {
    static const gc__load_setting settings[] = {{GC_STANDALONE_NAME_VARIABLE, true, false},
                                                {GC_STANDALONE_PATH_VARIABLE, false, true},
                                                {"DOTNET_GCName", true, false},
                                                {"DOTNET_GCPath", false, true},
                                                {"COMPlus_GCName", true, true}};
    const gc__load_setting *found = NULL;
    for (size_t i = 0; i < (GC_STANDALONE_CLR_VARIABLES ? sizeof settings / sizeof *settings : 2); i++) {
        const char *value = gc__os_setting(settings[i].variable);
        if (value && found)
            return gc__os_trouble(&load->library, "Unset one of them", "%s is set, too, to `%s`", settings[i].variable,
                                  gc__os_path_end(value));
        if (!value) continue;
        found = &settings[i];
        load->variable = found->variable;
        load->value = value;
    }
    return !found || gc__load_check_value(load, found);
}

/* Opens the file and checks it. A name without a folder is looked for in `beside`, the program's. */
GC__FN bool gc__load_open(gc__load *load, const char *beside) {
    char folder[PATH_MAX];
    const char *name = strrchr(load->value, '/');
    size_t length = name ? (size_t)(name + 1 - load->value) : strlen(beside);
    name = name ? name + 1 : load->value;
    load->step = "Finding the file";
    if (length == 0 || length >= sizeof folder)
        return gc__os_trouble(
            &load->library, "Mount /proc, or set " GC_STANDALONE_PATH_VARIABLE " to the absolute path of the file",
            length ? "the path is too long" : "the system does not say in which folder the program is");
    memcpy(folder, name == load->value ? beside : load->value, length);
    folder[length] = 0;
    if (!gc__os_library_find(&load->library, folder, name)) return false;
    load->step = "Checking who may change it";
    if (!gc__os_library_check_rights(&load->library)) return false;
    load->step = "Reading its header";
    return gc__elf_check(&load->library);
}

/* Loads the library, and looks up the symbols by which the protocol starts. */
GC__FN bool gc__load_symbols(gc__load *load) {
    load->step = "Loading it";
    if (!gc__os_library_load(&load->library)) return false;
    load->step = "Looking up GC_VersionInfo";
    load->version_info = gc__os_library_symbol(&load->library, "GC_VersionInfo");
    if (!load->version_info) return false;
    load->step = "Looking up GC_Initialize";
    load->initialize = gc__os_library_symbol(&load->library, "GC_Initialize");
    return load->initialize != NULL;
}

/* Starts with what the environment says. True: no library is named, and load->value is NULL, or its file can be loaded. */
GC__FN bool gc__load_begin(gc__load *load) {
    char beside[PATH_MAX];
    memset(load, 0, sizeof *load);
    load->library.folder = load->library.file = -1;
    load->step = "Reading the environment";
    if (!gc__load_read_settings(load)) return false;
    if (!load->value) return true;
    gc__os_program_folder(beside, sizeof beside);
    return gc__load_open(load, beside) && gc__load_symbols(load);
}

/* Makes a paragraph of what is wrong, as gc_last_message. `versions`: those of both sides, as a sentence. */
GC__FN gc_result gc__load_fail(gc__load *load, const char *versions) {
    const char *path = load->library.path;
    gc__fail(GC_ERROR_LIBRARY, "%s=%s: ", load->variable, gc__os_path_end(load->value));
    if (*path && strcmp(path, load->value) != 0)
        gc__fail_more("the collector %s is not used. ", gc__os_path_end(path));
    else
        gc__fail_more("the collector is not used. ");
    gc__fail_more("%s: %s. %s %s.", load->step, load->library.trouble, versions, load->library.remedy);
    gc__os_library_close(&load->library, false);
    return GC_ERROR_LIBRARY;
}
