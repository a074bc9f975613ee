/* The platform contract for libraries that are loaded by the names of their files, on Linux: finds and opens a file. */
#pragma once

#include "platform.h"

#ifndef __linux__
#error "gc_standalone.h: collectors as libraries are for Linux only, so far: on Windows, include gc.h or gc_stackmap.h instead"
#include GC__STOP
#endif
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#define GC__OS_LINKS_MAX 8 /* symbolic links that a name may lead through */
#define GC__OS_OWNERS_MAX 16
#define GC__OS_PATH_SHOWN 160
#define GC__OS_OPENAT2 437 /* the system call, which C libraries may not declare yet, and its RESOLVE_NO_MAGICLINKS */
#define GC__OS_NO_MAGIC_LINKS 2

/* A file that is checked before it is loaded. The checked file is the loaded one: only those who could also exchange
   the program can exchange it in between. */
typedef struct gc__os_library {
    int folder, file;    /* descriptors; -1: not open */
    char path[PATH_MAX]; /* the file's path; absolute, without symbolic links */
    uint64_t bytes;
    bool is_started;   /* it names a dynamic linker, as an executable program does */
    void *handle;      /* NULL: not loaded */
    char trouble[440]; /* why a call returned false, followed by a sentence with the remedy */
    const char *remedy;
} gc__os_library;

/* Records what is wrong. Returns false. */
GC__FN bool gc__os_trouble(gc__os_library *library, const char *remedy, const char *format, ...)
    __attribute__((GC__PRINTF(3, 4), cold));
GC__FN bool gc__os_trouble(gc__os_library *library, const char *remedy, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(library->trouble, sizeof library->trouble, format, arguments);
    va_end(arguments);
    library->remedy = remedy;
    return false;
}

/* Returns the end of a long path, which says more than its beginning. */
GC__FN const char *gc__os_path_end(const char *path) {
    size_t length = strlen(path);
    return length > GC__OS_PATH_SHOWN ? path + length - GC__OS_PATH_SHOWN : path;
}

/* Writes the folder of the program's file, with a slash at its end; empty if the system does not say. */
GC__FN void gc__os_program_folder(char *path, size_t size) {
    ssize_t length = readlink("/proc/self/exe", path, size);
    if (length < 0 || (size_t)length == size || *path != '/') length = 0;
    while (length && path[length - 1] != '/') length--;
    path[length] = 0;
}

/* Calls f for an open folder and each one above it, until f returns false. Returns whether it reached the root. */
GC__FN bool gc__os_each_above(int folder, bool (*f)(void *context, const struct stat *facts, int depth),
                              void *context) {
    struct stat facts, above;
    int at = openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool ok = at >= 0 && fstat(at, &facts) == 0, is_root = false;
    for (int depth = 0; ok && !is_root && (ok = f(context, &facts, depth)); depth++) {
        int next = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = next;
        ok = at >= 0 && fstat(at, &above) == 0;
        is_root = ok && above.st_dev == facts.st_dev && above.st_ino == facts.st_ino;
        facts = above;
    }
    if (at >= 0) close(at);
    return ok;
}

/* The users who could exchange the program: root, its user, and the owners of its file and of all folders above
   that. */
typedef struct gc__os_owners {
    uid_t ids[GC__OS_OWNERS_MAX];
    int count;
} gc__os_owners;

GC__FN bool gc__os_owners_have(const gc__os_owners *owners, uid_t id) {
    for (int i = 0; i < owners->count; i++)
        if (owners->ids[i] == id) return true;
    return false;
}

GC__FN bool gc__os_owners_add(void *owners_of_program, const struct stat *facts, int depth) {
    gc__os_owners *owners = (gc__os_owners *)owners_of_program;
    (void)depth;
    if (owners->count < GC__OS_OWNERS_MAX && !gc__os_owners_have(owners, facts->st_uid))
        owners->ids[owners->count++] = facts->st_uid;
    return true;
}

GC__FN void gc__os_owners_find(gc__os_owners *owners) {
    char program[PATH_MAX];
    struct stat facts;
    owners->ids[0] = 0;
    owners->ids[1] = geteuid();
    owners->count = 2;
    if (stat("/proc/self/exe", &facts) == 0) gc__os_owners_add(owners, &facts, 0);
    gc__os_program_folder(program, sizeof program);
    int folder = open(program, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    gc__os_each_above(folder, gc__os_owners_add, owners);
    close(folder);
}

typedef struct gc__os_guard {
    gc__os_library *library;
    gc__os_owners owners;
} gc__os_guard;

/* Returns whether only those who could exchange the program can change a file or folder. A group with the number of the
   owner counts as the owner's own, since many systems give each user such a group. */
GC__FN bool gc__os_is_guarded(gc__os_guard *guard, const struct stat *facts, const char *which) {
    bool by_group = (facts->st_mode & S_IWGRP) && facts->st_gid != facts->st_uid;
    if (by_group || (facts->st_mode & S_IWOTH))
        return gc__os_trouble(
            guard->library, "Run `chmod go-w` on it, or copy the library into a folder that is yours alone",
            "%s is writable by %s (mode %04o, owner %u, group %u), who could have any code run in this "
            "program",
            which, facts->st_mode & S_IWOTH ? "everybody" : "a group", (unsigned)facts->st_mode & 07777,
            (unsigned)facts->st_uid, (unsigned)facts->st_gid);
    if (!gc__os_owners_have(&guard->owners, facts->st_uid))
        return gc__os_trouble(
            guard->library, "Copy the library into a folder of yours, or of root",
            "%s belongs to user %u, who could have any code run in this program: he is neither root, nor "
            "the program's user %u, nor an owner of the program's file or of a folder above that",
            which, (unsigned)facts->st_uid, (unsigned)geteuid());
    return true;
}

/* In folders with the sticky bit, like /tmp, users cannot exchange what belongs to others. In the library's own folder
   that is not enough: anybody could supply a library that is missing. */
GC__FN bool gc__os_folder_is_guarded(void *context, const struct stat *facts, int depth) {
    gc__os_guard *guard = (gc__os_guard *)context;
    struct stat seen = *facts;
    char which[80];
    if (depth && (seen.st_mode & S_ISVTX)) seen.st_mode &= ~(mode_t)(S_IWGRP | S_IWOTH);
    if (depth)
        snprintf(which, sizeof which, "the folder that is %d above it", depth + 1);
    else
        snprintf(which, sizeof which, "its folder");
    return gc__os_is_guarded(guard, &seen, which);
}

/* Returns whether the path to the folder leads through a link of /proc to a process's open file or working folder: such
   a path begins with a slash, but means another folder in each process. Systems before Linux 5.6 do not reveal paths
   that reach /proc by a symbolic link. */
GC__FN bool gc__os_is_of_process(const char *folder) {
    struct gc__os_open_how {
        uint64_t flags, mode, resolve;
    } how = {O_PATH | O_DIRECTORY | O_CLOEXEC, 0, GC__OS_NO_MAGIC_LINKS};
    int at = (int)syscall(GC__OS_OPENAT2, AT_FDCWD, folder, &how, sizeof how);
    bool refused = at < 0 && errno == ELOOP;
    if (at >= 0) close(at);
    while (*folder == '/' || (folder[0] == '.' && folder[1] == '/')) folder++;
    return refused || strncmp(folder, "proc/", 5) == 0 || strncmp(folder, "dev/fd/", 7) == 0;
}

GC__FN bool gc__os_library_open_folder(gc__os_library *library, const char *folder) {
    if (realpath(folder, library->path)) library->folder = open(library->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (library->folder >= 0 && gc__os_is_of_process(folder))
        return gc__os_trouble(library, "Name the folder itself",
                              "the path leads through a link of /proc, and would depend on the current folder, or on what the "
                              "process has open");
    if (library->folder >= 0) return true;
    int error = errno;
    snprintf(library->path, sizeof library->path, "%s", folder);
    return gc__os_trouble(library, "Name a file whose folder exists and can be entered",
                          "its folder cannot be opened: %s", strerror(error));
}

GC__FN int gc__os_library_open_link(gc__os_library *library, char *name) {
    size_t length = strlen(library->path);
    int links = 0;
    do {
        if (strlen(name) > NAME_MAX || length + strlen(name) >= sizeof library->path) {
            errno = ENAMETOOLONG;
            return -1;
        }
        strcpy(library->path + length, name);
        int file = openat(library->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (file >= 0 || errno != ELOOP) return file;
        ssize_t bytes = readlinkat(library->folder, library->path + length, name, NAME_MAX + 1);
        name[bytes < 0 ? 0 : bytes] = 0;
    } while (!strchr(name, '/') && strcmp(name, "..") != 0 && ++links < GC__OS_LINKS_MAX);
    errno = ELOOP;
    return -1;
}

/* Opens the file, following symbolic links to other files of the same folder. */
GC__FN bool gc__os_library_open_file(gc__os_library *library, const char *name) {
    char target[NAME_MAX + 2];
    size_t length = strlen(library->path);
    if (library->path[length - 1] != '/') strcpy(library->path + length, "/");
    snprintf(target, sizeof target, "%s", name);
    library->file = gc__os_library_open_link(library, target);
    if (library->file >= 0) return true;
    int error = errno;
    if (error == ELOOP && (strchr(target, '/') || strcmp(target, "..") == 0))
        return gc__os_trouble(library, "Name the file that the link leads to by its own path",
                              "it is a symbolic link that leaves its folder, to `%s`", gc__os_path_end(target));
    if (error == ENOENT) return gc__os_trouble(library, "Build it there, or correct the name", "there is no such file");
    return gc__os_trouble(library,
                          error == EACCES ? "Allow the user of the program to enter its folder and to read it"
                                          : "Name another file",
                          "it cannot be opened: %s", strerror(error));
}

/* Finds the file `name` in the folder, and opens it. */
GC__FN bool gc__os_library_find(gc__os_library *library, const char *folder, const char *name) {
    struct stat facts;
    if (!gc__os_library_open_folder(library, folder) || !gc__os_library_open_file(library, name)) return false;
    memset(&facts, 0, sizeof facts);
    if (fstat(library->file, &facts) != 0) facts.st_mode = 0;
    library->bytes = (uint64_t)facts.st_size;
    if (!S_ISREG(facts.st_mode))
        return gc__os_trouble(library, "Name the file of a library", "it is %s, no file",
                              S_ISDIR(facts.st_mode)    ? "a folder"
                              : S_ISFIFO(facts.st_mode) ? "a FIFO"
                                                        : "a device");
    return facts.st_size > 0 ||
           gc__os_trouble(library, "Build the library again, or copy it again", "the file is empty");
}

/* Returns whether only those who could exchange the program can change the file, or replace it by another one. */
GC__FN bool gc__os_library_check_rights(gc__os_library *library) {
    gc__os_guard guard;
    struct stat facts;
    guard.library = library;
    gc__os_owners_find(&guard.owners);
    gc__os_trouble(library, "Give the program the right to enter all folders above the file",
                   "a folder above it cannot be entered");
    return fstat(library->file, &facts) == 0 && gc__os_is_guarded(&guard, &facts, "the file") &&
           gc__os_each_above(library->folder, gc__os_folder_is_guarded, &guard);
}

/* Returns the linker's message without the library's path, with which it begins. */
GC__FN const char *gc__os_linker_words(const gc__os_library *library) {
    const char *words = dlerror();
    size_t length = strlen(library->path);
    if (!words) return "";
    return strncmp(words, library->path, length) == 0 && strncmp(words + length, ": ", 2) == 0 ? words + length + 2
                                                                                               : words;
}

/* Returns whether the path still leads to the file that was checked. */
GC__FN bool gc__os_library_is_same(const gc__os_library *library) {
    struct stat checked, named;
    return fstat(library->file, &checked) == 0 && lstat(library->path, &named) == 0 && checked.st_dev == named.st_dev &&
           checked.st_ino == named.st_ino && checked.st_size == named.st_size;
}

/* Loads the file that was checked. The linker is given the file's path rather than that of its descriptor, by which
   neither a debugger nor the printed stack could find it. */
GC__FN bool gc__os_library_load(gc__os_library *library) {
    void *loaded = dlopen(library->path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (loaded) {
        dlclose(loaded);
        return gc__os_trouble(
            library, "Copy the file, and name the copy, for a second instance of the collector",
            "this program has loaded it already, perhaps by another name, and a library serves one host");
    }
    library->handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle)
        return gc__os_trouble(
            library,
            library->is_started
                ? "Name a collector's library, such as libgc-checked.so: this is a program, which one starts"
                : "Install the libraries that it needs, or build it again on this system; if memory cannot be "
                  "mapped, its file system may be mounted with noexec",
            "the dynamic linker says: %s", gc__os_linker_words(library));
    if (gc__os_library_is_same(library)) return true;
    return gc__os_trouble(library, "Start the program again", "the file was replaced while the program was loading it");
}

/* Returns the address of a symbol; NULL if the library has none. */
GC__FN void *gc__os_library_symbol(gc__os_library *library, const char *symbol) {
    void *found = dlsym(library->handle, symbol);
    if (!found)
        gc__os_trouble(library,
                       "Build it from gc_standalone.h, which exports the symbol, and strip at most debug symbols",
                       "the dynamic linker says: %s", gc__os_linker_words(library));
    return found;
}

/* Closes the descriptors, and unloads the library unless it is to stay. */
GC__FN void gc__os_library_close(gc__os_library *library, bool stays) {
    if (library->folder >= 0) close(library->folder);
    if (library->file >= 0) close(library->file);
    if (library->handle && !stays) dlclose(library->handle);
    library->folder = library->file = -1;
}

/* Registers functions around fork for the lock of libraries, as gc__os_at_fork does. */
GC__FN bool gc__os_library_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
    return pthread_atfork(before, in_parent, in_child) == 0;
}
