/* Finding, checking and loading the library that the environment names. */
#pragma once

#include "../api/standalone.h"
#include "../base/report.h"
#include "../platform/elf_linux.h"
#include "geometry.h"
#include "host.h"

#ifndef GC_STANDALONE_LIBRARY
#define GC__INTERFACE_LAST gc_container_bytes /* of version 1.0 */
GC__STATIC_ASSERT(GC_INTERFACE_MAJOR > 1 || GC_INTERFACE_MINOR > 0 ||
                      offsetof(gc_functions, GC__INTERFACE_LAST) + sizeof(void *) == sizeof(gc_functions),
                  "GC__INTERFACE_LAST is not the last function of version 1.0");

/* A library on its way into the program. Its path and what is wrong with it are in `file`. */
typedef struct gc__load {
    const char *variable, *value; /* which setting named it; variable NULL: gc_library_load; value NULL: none */
    const char *step;             /* the one that failed, as a clause */
    gc__os_library file;
    void *version_info, *initialize; /* the two symbols */
    gc_version_info version;         /* of the library */
    bool is_version_known;
    char why[320]; /* what GC_Initialize had to say */
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
        return gc__os_trouble(&load->file, "Set " GC_STANDALONE_PATH_VARIABLE " to the path instead",
                              "it is a path, and the variable takes the name of a file beside the program");
    if (*value != '/' && !setting->is_name)
        return gc__os_trouble(&load->file, "Begin the path with a slash",
                              "it is a relative path, which would depend on the current folder");
    if (*value != '/' && strchr(value, '/'))
        return gc__os_trouble(&load->file,
                              "Set " GC_STANDALONE_PATH_VARIABLE " to the absolute path of the file instead",
                              "a name must not contain a slash, for it is looked for beside the program alone");
    if (gc__load_has_parent(value))
        return gc__os_trouble(&load->file, "Write the path without `..`", "it leaves its folder by `..`");
    if (value[strlen(value) - 1] == '/')
        return gc__os_trouble(&load->file, "Name the file", "it ends in a slash, so it names a folder");
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
            return gc__os_trouble(&load->file, "Unset one of them", "%s is set, too, to `%s`", settings[i].variable,
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
    if (length == 0)
        return gc__os_trouble(&load->file,
                              "Mount /proc, or set " GC_STANDALONE_PATH_VARIABLE " to the absolute path of the file",
                              "the system does not say in which folder the program is");
    if (length >= sizeof folder) return gc__os_trouble(&load->file, "Move it", "its path is too long");
    memcpy(folder, name == load->value ? beside : load->value, length);
    folder[length] = 0;
    if (!gc__os_library_find(&load->file, folder, name)) return false;
    load->step = "Checking who may change it";
    if (!gc__os_library_check_rights(&load->file)) return false;
    load->step = "Reading its header";
    return gc__elf_check(&load->file);
}

/* Loads the library, and looks up the symbols by which the protocol starts. */
GC__FN bool gc__load_symbols(gc__load *load) {
    load->step = "Loading it";
    if (!gc__os_library_load(&load->file)) return false;
    load->step = "Looking up GC_VersionInfo";
    load->version_info = gc__os_library_symbol(&load->file, "GC_VersionInfo");
    if (!load->version_info) return false;
    load->step = "Looking up GC_Initialize";
    load->initialize = gc__os_library_symbol(&load->file, "GC_Initialize");
    return load->initialize != NULL;
}

/* The versions of both sides as a sentence. */
GC__FN void gc__load_print_versions(const gc__load *load, char *text, size_t bytes) {
    const gc_version_info *version = &load->version;
    size_t used =
        (size_t)snprintf(text, bytes, "The program has version %d.%d of the interface (gc.h " GC_VERSION_TEXT "), ",
                         GC_INTERFACE_MAJOR, GC_INTERFACE_MINOR);
    if (load->is_version_known)
        snprintf(text + used, bytes - used, "the library version %u.%u (%.60s, build %u).", (unsigned)version->major,
                 (unsigned)version->minor, version->name ? version->name : "without a name", (unsigned)version->build);
    else
        snprintf(text + used, bytes - used, "and the library has not been asked for its own.");
}

/* Asks the library for its version. With the same major version both sides know all that the lower minor version has. */
GC__FN bool gc__load_ask_version(gc__load *load) {
    gc_version_info_function *version_info;
    memcpy(&version_info, &load->version_info, sizeof version_info);
    load->step = "Comparing the versions";
    load->version.major = GC_INTERFACE_MAJOR;
    load->version.minor = GC_INTERFACE_MINOR;
    load->version.name = "gc.h " GC_VERSION_TEXT;
    version_info(&load->version);
    load->is_version_known = true;
    return load->version.major == GC_INTERFACE_MAJOR ||
           gc__os_trouble(&load->file,
                          "Use a library whose version begins with the same number, or compile the program again",
                          "the first numbers of the versions differ, so the two do not understand each other");
}

static gc__load *gc__load_now; /* that for which GC_Initialize runs; written under the lock of libraries */

/* gc_host.refused. */
GC__FN void gc__load_refused(void *context, const char *why) {
    (void)context;
    if (gc__load_now && why) snprintf(gc__load_now->why, sizeof gc__load_now->why, ": %s", why);
}

/* Whether what GC_Initialize has given is what the program was compiled for. */
GC__FN bool gc__load_check_functions(gc__load *load, const gc_functions *functions) {
    const char *remedy = "Build the library from an unchanged gc_standalone.h";
    size_t least = offsetof(gc_functions, GC__INTERFACE_LAST) + sizeof(void *);
    char differences[320];
    if (!functions) return gc__os_trouble(&load->file, remedy, "it gives no table of functions");
    if (functions->bytes < least)
        return gc__os_trouble(&load->file, remedy, "it gives a table of %u bytes, and version 1.0 has at least %zu",
                              (unsigned)functions->bytes, least);
    if (!functions->geometry) return gc__os_trouble(&load->file, remedy, "its table lacks the geometry");
    if (!gc__geometry_differs(&gc__geometry_here, functions->geometry, differences, sizeof differences)) return true;
    return gc__os_trouble(&load->file, "Compile both with the same GC_ macros", "the geometries differ: %s",
                          differences);
}

/* What the program knows of descriptions, which the library then fills in. */
GC__FN void gc__load_ask_description(GcDacVars *vars) {
    vars->major = GC_DAC_MAJOR;
    vars->minor = GC_DAC_MINOR;
    vars->bytes = sizeof *vars;
    vars->variable_count = GC__DAC_VARIABLE_COUNT;
    vars->fact_count = GC__DAC_FACT_COUNT;
    vars->member_count = GC__DAC_AT_COUNT;
    vars->statistic_count = GC__DAC_STATISTIC_COUNT;
}

/* Starts the library's collector. */
GC__FN bool gc__load_initialize(gc__load *load, gc_library *library) {
    gc_initialize_function *initialize;
    const gc_functions *functions = NULL;
    memcpy(&initialize, &load->initialize, sizeof initialize);
    load->step = "Calling GC_Initialize";
    gc__library_host(library);
    gc__load_ask_description(library->vars);
    library->host.refused = gc__load_refused;
    gc__load_now = load;
    int32_t result = initialize(&library->host, &functions, library->vars);
    gc__load_now = NULL;
    if (result)
        return gc__os_trouble(&load->file,
                              "Use a library that was compiled with the GC_ macros of the program, or ask its author",
                              "it returns %d%s", (int)result, load->why);
    library->functions = functions;
    library->version = load->version;
    library->handle = load->file.handle;
    return gc__load_check_functions(load, functions);
}

/* Makes a paragraph of what is wrong, as gc_last_message. */
GC__FN void gc__load_fail(gc__load *load) {
    const char *path = load->file.path;
    char versions[240];
    gc__load_print_versions(load, versions, sizeof versions);
    if (load->variable)
        gc__fail(GC_ERROR_LIBRARY, "%s=%s: ", load->variable, gc__os_path_end(load->value));
    else
        gc__fail(GC_ERROR_LIBRARY, "gc_library_load of %s: ", gc__os_path_end(load->value));
    if (*path && strcmp(path, load->value) != 0)
        gc__fail_more("the collector %s is not used. ", gc__os_path_end(path));
    else
        gc__fail_more("the collector is not used. ");
    gc__fail_more("%s: %s. %s %s.", load->step, load->file.trouble, versions, load->file.remedy);
}

/* Loads what `load` names. Lock of libraries held. NULL with gc__fail. */
GC__FN gc_library *gc__load_run(gc__load *load) {
    char beside[PATH_MAX];
    /* Together, since both live as long as the library. */
    gc_library *library = (gc_library *)calloc(1, sizeof *library + sizeof(GcDacVars));
    char *path = NULL;
    if (library) library->vars = (GcDacVars *)(library + 1);
    gc__os_program_folder(beside, sizeof beside);
    bool ok = gc__load_open(load, beside) && gc__load_symbols(load) && gc__load_ask_version(load);
    if (ok) path = strdup(load->file.path);
    if (ok && (!path || !library))
        ok = gc__os_trouble(&load->file, "Free some memory", "the system has no more memory");
    ok = ok && gc__load_initialize(load, library);
    if (!ok) gc__load_fail(load);
    gc__os_library_close(&load->file, ok);
    if (ok) {
        library->path = path;
        return library;
    }
    free(path);
    free(library);
    return NULL;
}

GC__FN void gc__load_init(gc__load *load, const char *step) {
    memset(load, 0, sizeof *load);
    load->file.folder = load->file.file = -1;
    load->step = step;
}

/* Loads the collector that the environment names. *library: NULL if it names none. Lock of libraries held. */
GC__FN gc_result gc__library_named(gc_library **library) {
    gc__load load;
    gc__load_init(&load, "Reading the environment");
    *library = NULL;
    if (!gc__load_read_settings(&load)) {
        gc__load_fail(&load);
        return GC_ERROR_LIBRARY;
    }
    if (!load.value) return GC_OK;
    *library = gc__load_run(&load);
    return *library ? GC_OK : GC_ERROR_LIBRARY;
}

GC_API gc_library *gc_library_load(const char *path, const char **why) {
    static const gc__load_setting setting = {NULL, false, true};
    gc_library *library = NULL;
    gc__load load;
    if (gc__is_null(path, "gc_library_load", "path")) return NULL;
    gc__load_init(&load, "Reading the path");
    load.value = path;
    gc__lock_take(&gc__library_lock);
    if (gc__load_check_value(&load, &setting))
        library = gc__load_run(&load);
    else
        gc__load_fail(&load);
    gc__lock_release(&gc__library_lock);
    gc__library_await_forks();
    if (!library && why) *why = gc__last_message;
    return library;
}
#endif
