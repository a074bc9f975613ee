/* The platform contract for reports, on Linux: names of code and static data, from the symbols of the loaded files.
   Lines and inlined functions come from the tool addr2line, if it is installed.

   All functions are safe in a fault handler, even if the fault was within malloc: they take no lock of the C library
   except that of stderr, and get memory from the system only. */
#pragma once

#include "lines_linux.h"
#include "os_linux.h"
#include "symbols.h"

#ifdef __linux__
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The file that contains an address. */
typedef struct gc__os_place {
    uintptr_t address, offset; /* the offset is in the numbering of the file's symbols */
    char path[512];
} gc__os_place;

GC__COLD int gc__os_place_in(struct dl_phdr_info *file, size_t bytes, void *context) {
    gc__os_place *place = (gc__os_place *)context;
    (void)bytes;
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        uintptr_t start = file->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || place->address - start >= part->p_memsz) continue;
        place->offset = place->address - file->dlpi_addr;
        if (*file->dlpi_name)
            snprintf(place->path, sizeof place->path, "%s", file->dlpi_name);
        else
            snprintf(place->path, sizeof place->path, "/proc/%ld/exe", (long)getpid());
        return 1;
    }
    return 0;
}

/* Returns false if the address is in no file. */
GC__COLD bool gc__os_place_of(uintptr_t address, gc__os_place *place) {
    place->address = address;
    return dl_iterate_phdr(gc__os_place_in, place) != 0;
}

/* The symbols of the file that was last used: successive addresses are mostly in the same file. */
typedef struct gc__os_names {
    gc__os_place place;
    gc__symbols symbols;
    char opened[512]; /* the path of that file */
} gc__os_names;

GC__COLD void gc__os_names_close(gc__os_names *names) {
    gc__symbols_close(&names->symbols);
    *names->opened = 0;
}

/* Returns the symbol at the address, and stores its place; NULL if there is none. `types` must be the same in all
   calls. */
GC__COLD const gc__symbol *gc__os_names_find(gc__os_names *names, uintptr_t address, unsigned types) {
    gc__os_place *place = &names->place;
    *place->path = 0;
    if (!gc__os_place_of(address, place)) return NULL;
    if (strcmp(names->opened, place->path) != 0) {
        gc__os_names_close(names);
        memcpy(names->opened, place->path, sizeof names->opened);
        if (gc__image_open(place->path, &names->symbols.image) == 0)
            gc__symbols_list(&names->symbols, place->path, types);
    }
    return gc__symbols_find(&names->symbols, place->offset);
}

/* Prints the place of an address in a file. */
GC__COLD void gc__os_print_place(const gc__os_place *place) {
    char program[sizeof place->path];
    ssize_t length = strncmp(place->path, "/proc/", 6) == 0 ? readlink(place->path, program, sizeof program - 1) : -1;
    program[length < 0 ? 0 : length] = 0;
    fprintf(stderr, "%s+%#zx", length < 0 ? place->path : program, (size_t)place->offset);
}

/* Prints a frame, unless it is one of the collector's. Returns whether it did. */
GC__COLD bool gc__os_print_frame(gc__os_names *names, uintptr_t pc) {
    const gc__symbol *symbol = gc__os_names_find(names, pc, GC__IMAGE_CODE);
    if (symbol && strncmp(symbol->name, "gc__", 4) == 0) return false;
    if (symbol) {
        fprintf(stderr, "gc.h:     %s+%#zx (", symbol->name, (size_t)(names->place.offset - symbol->start));
        gc__os_print_place(&names->place);
        fputs(")\n", stderr);
        return true;
    }
    fputs("gc.h:     ", stderr);
    if (*names->place.path)
        gc__os_print_place(&names->place);
    else
        fprintf(stderr, "%p, which is in no file", (void *)pc);
    fputs("\n", stderr);
    return true;
}

#define GC__OS_TOOL_MS 5000 /* a tool that prints nothing for this long is abandoned */

/* Starts a tool, as popen does, but without a shell, locks and memory; its output goes to the file. Returns 0 if the
   system refuses. */
GC__COLD pid_t gc__os_tool_start(char *const *arguments, int *from) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return 0;
    pid_t pid = vfork();
    if (pid == 0) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (dup2(ends[1], 1) >= 0 && dup2(nowhere, 2) >= 0) execvp(arguments[0], arguments);
        _exit(127);
    }
    close(ends[1]);
    if (pid < 0) close(ends[0]);
    *from = ends[0];
    return pid < 0 ? 0 : pid;
}

static bool gc__os_has_no_sites; /* addr2line printed nothing, so it is not started again; atomic */

/* The output of addr2line for addresses in one file: for each address a line that begins with it, and a line for each
   function that it was inlined into. */
typedef struct gc__os_sites {
    pid_t tool; /* 0: the tool does not run */
    gc__os_lines lines;
    char line[512]; /* the next line; "": there is none */
} gc__os_sites;

GC__COLD void gc__os_sites_read(gc__os_sites *sites) {
    if (!sites->tool || !gc__os_line(&sites->lines, sites->line, sizeof sites->line)) *sites->line = 0;
}

GC__COLD void gc__os_sites_open(gc__os_sites *sites, char *path, const uintptr_t *offsets, int count) {
    enum { OPTIONS = 4, ROOM = 20 };
    char name[] = "addr2line", options[] = "-aCfip", of[] = "-e", texts[GC__STACK_FRAMES][ROOM];
    char *arguments[OPTIONS + GC__STACK_FRAMES + 1] = {name, options, of, path};
    for (int i = 0; i < count; i++) {
        snprintf(texts[i], ROOM, "%#zx", (size_t)offsets[i]);
        arguments[OPTIONS + i] = texts[i];
    }
    memset(sites, 0, sizeof *sites);
    sites->lines.patience_ms = GC__OS_TOOL_MS;
    if (!count || __atomic_load_n(&gc__os_has_no_sites, __ATOMIC_RELAXED) || access(path, R_OK) != 0) return;
    sites->tool = gc__os_tool_start(arguments, &sites->lines.file);
    gc__os_sites_read(sites);
    if (!*sites->line) __atomic_store_n(&gc__os_has_no_sites, true, __ATOMIC_RELAXED);
}

GC__COLD void gc__os_sites_close(gc__os_sites *sites) {
    if (!sites->tool) return;
    close(sites->lines.file);
    kill(sites->tool, SIGKILL);
    while (syscall(SYS_wait4, sites->tool, NULL, 0, NULL) < 0 && errno == EINTR) continue;
}

/* Reads the output for the next address, and prints it without functions of gc.h. Returns false if nothing is known of
   the address. */
GC__COLD bool gc__os_sites_print(gc__os_sites *sites, int *shown, int most) {
    static const char into[] = " (inlined by) ";
    const char *name = strchr(sites->line, ' ');
    bool is_known = name && !strchr(name, '?');
    while (name) {
        name += strspn(name, " ");
        if (is_known && strncmp(name, "gc__", 4) != 0 && *shown < most)
            *shown += fprintf(stderr, "gc.h:     %s\n", name) > 0;
        gc__os_sites_read(sites);
        name = strncmp(sites->line, into, strlen(into)) == 0 ? sites->line + strlen(into) : NULL;
    }
    return is_known;
}

/* Returns how many of the frames, from the first on, are in the same file. Stores the addresses of their calls in that
   file, and its path. */
GC__COLD int gc__os_alike(void *const *frames, int count, uintptr_t exact, uintptr_t *offsets, char *path) {
    gc__os_place place;
    for (int same = 0; same < count; same++) {
        uintptr_t pc = (uintptr_t)frames[same];
        if (!gc__os_place_of(pc, &place) || (same && strcmp(place.path, path) != 0)) return same;
        memcpy(path, place.path, sizeof place.path);
        offsets[same] = place.offset - (pc != exact); /* a return address is that of the next instruction */
    }
    return count;
}

/* Names all frames up to the first in another file. Returns their number. */
GC__COLD int gc__os_name_alike(gc__os_names *names, void *const *frames, int count, uintptr_t exact, int *shown) {
    enum { LINES_MAX = 16 };
    gc__os_sites sites;
    uintptr_t offsets[GC__STACK_FRAMES];
    char path[sizeof names->opened];
    int same = gc__os_alike(frames, count, exact, offsets, path), named = same ? same : 1;
    gc__os_sites_open(&sites, path, offsets, same);
    for (int i = 0; i < named; i++)
        if (!gc__os_sites_print(&sites, shown, LINES_MAX) && *shown < LINES_MAX)
            *shown += gc__os_print_frame(names, (uintptr_t)frames[i] - ((uintptr_t)frames[i] != exact));
    gc__os_sites_close(&sites);
    return named;
}

/* The option by which compilers let stacks be read; NULL: they do without. */
#if defined(__GLIBC__) && defined(__x86_64__)
#define GC__OS_STACK_OPTION NULL
#elif defined(__GLIBC__)
#define GC__OS_STACK_OPTION "-funwind-tables"
#else
#define GC__OS_STACK_OPTION "-fno-omit-frame-pointer"
#endif
GC__INLINED void gc__os_names_end(gc__os_names *names, int shown) {
    const char *option = GC__OS_STACK_OPTION;
    gc__os_names_close(names);
    if (option && !shown) fprintf(stderr, "gc.h:     (no functions are found on the stack: compile with %s)\n", option);
}

GC__COLD void gc__os_name_frames(void *const *frames, int count, uintptr_t exact) {
    gc__os_names names;
    int shown = 0;
    memset(&names, 0, sizeof names);
    for (int i = 0; i < count;) i += gc__os_name_alike(&names, frames + i, count - i, exact, &shown);
    gc__os_names_end(&names, shown);
}

GC__COLD void gc__os_print_stack(void) {
    void *frames[GC__STACK_FRAMES];
    int count = gc__os_stack_frames(frames), shown = 0;
    gc__os_names names;
    memset(&names, 0, sizeof names);
    for (int i = 0; i < count; i++) shown += gc__os_print_frame(&names, (uintptr_t)frames[i] - 1);
    gc__os_names_end(&names, shown);
}

GC__COLD void gc__os_name_data(char *text, size_t bytes, uintptr_t address) {
    gc__os_names names;
    memset(&names, 0, sizeof names);
    const gc__symbol *symbol = gc__os_names_find(&names, address, GC__IMAGE_DATA);
    if (symbol)
        snprintf(text, bytes, "the static variable `%s` (offset %zu)", symbol->name,
                 (size_t)(names.place.offset - symbol->start));
    else
        snprintf(text, bytes, "static data at %p", (void *)address);
    gc__os_names_close(&names);
}

typedef struct gc__os_data_search {
    void (*f)(void *context, uintptr_t start, uintptr_t end);
    void *context;
} gc__os_data_search;

GC__COLD int gc__os_data_in(struct dl_phdr_info *file, size_t bytes, void *context) {
    const gc__os_data_search *search = (const gc__os_data_search *)context;
    uintptr_t page = gc__os_page_bytes(), hidden = 0, hidden_end = 0;
    (void)bytes;
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        if (part->p_type != PT_GNU_RELRO) continue;
        hidden = (file->dlpi_addr + part->p_vaddr) & ~(page - 1);
        hidden_end = (file->dlpi_addr + part->p_vaddr + part->p_memsz) & ~(page - 1);
    }
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        uintptr_t start = (file->dlpi_addr + part->p_vaddr + 7) & ~(uintptr_t)7,
                  end = (file->dlpi_addr + part->p_vaddr + part->p_memsz) & ~(uintptr_t)7;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        if (start - hidden < hidden_end - hidden) start = hidden_end; /* the program cannot write this part any more */
        if (start < end) search->f(search->context, start, end);
    }
    return 0;
}

GC__COLD void gc__os_each_data(void (*f)(void *context, uintptr_t start, uintptr_t end), void *context) {
    gc__os_data_search search = {f, context};
    dl_iterate_phdr(gc__os_data_in, &search);
}
#endif
