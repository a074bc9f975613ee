/* The platform contract for reports, on Linux: names of code and static data, by the tools addr2line and nm if they are there. */
#pragma once

#include "os_linux.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The file of which an address is a part. */
typedef struct gc__os_place {
    uintptr_t address, offset; /* the offset is what the file's symbols say */
    char path[512];
} gc__os_place;

GC__FN int gc__os_place_in(struct dl_phdr_info *file, size_t bytes, void *context) {
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

/* False: the address is a part of no file. */
GC__FN bool gc__os_place_of(uintptr_t address, gc__os_place *place) {
    place->address = address;
    return dl_iterate_phdr(gc__os_place_in, place) != 0 && !strchr(place->path, '\'');
}

/* Copies what the tool says to stderr, but for functions of gc.h. Returns how many lines there were. */
GC__FN int gc__os_copy_names(const char *command, int most) {
    char line[512];
    int count = 0;
    FILE *names = popen(command, "r");
    while (names && fgets(line, sizeof line, names)) {
        const char *name = line + strspn(line, " ");
        if (strncmp(name, "(inlined by) ", 13) == 0) name += 13;
        if (strncmp(name, "gc__", 4) != 0 && strncmp(name, "??", 2) != 0 && count < most)
            count += fprintf(stderr, "gc.h:     %s%s", name, strchr(name, '\n') ? "" : "\n") > 0;
    }
    if (names) pclose(names);
    return count;
}

/* Those in the same file as the first one, whose place is given: one call of the tool names them. Returns how many. */
GC__FN int gc__os_name_alike(void *const *frames, int count, uintptr_t exact, gc__os_place *place, int *shown) {
    enum { LINES_MAX = 16, ROOM = 24 };
    char command[sizeof place->path + 100 + GC__STACK_FRAMES * ROOM];
    char path[sizeof place->path];
    size_t length =
        (size_t)snprintf(command, sizeof command, "addr2line -C -f -i -p -e '%s' 2> /dev/null", place->path);
    int same = 0;
    memcpy(path, place->path, sizeof path);
    for (; same < count; same++) {
        uintptr_t pc = (uintptr_t)frames[same];
        if (!gc__os_place_of(pc, place) || strcmp(place->path, path) != 0 || sizeof command - length < ROOM) break;
        /* A return address is that of the next instruction. */
        length += (size_t)snprintf(command + length, sizeof command - length, " %#zx", place->offset - (pc != exact));
    }
    *shown += gc__os_copy_names(command, LINES_MAX - *shown);
    return same;
}

GC__FN void gc__os_name_frames(void *const *frames, int count, uintptr_t exact) {
    int shown = 0, most = count < GC__STACK_FRAMES ? count : GC__STACK_FRAMES;
    for (int i = 0; i < most;) {
        gc__os_place place;
        i += gc__os_place_of((uintptr_t)frames[i], &place)
                 ? gc__os_name_alike(frames + i, most - i, exact, &place, &shown)
                 : 1;
    }
    if (shown) return;
    void *copy[GC__STACK_FRAMES];
    memcpy(copy, frames, (size_t)most * sizeof *copy);
    gc__os_print_frames(copy, most);
}

/* The last symbol of data that begins at the offset or before it. */
GC__FN void gc__os_name_data(char *text, size_t bytes, uintptr_t address) {
    gc__os_place place;
    char command[sizeof place.path + 40], line[512], name[200] = "", found[200], kind;
    unsigned long long at, last = 0;
    snprintf(text, bytes, "static data at %p", (void *)address);
    if (!gc__os_place_of(address, &place)) return;
    snprintf(command, sizeof command, "nm -n '%s' 2> /dev/null", place.path);
    FILE *symbols = popen(command, "r");
    while (symbols && fgets(line, sizeof line, symbols)) {
        if (sscanf(line, "%llx %c %199s", &at, &kind, found) != 3 || at > place.offset) continue;
        if (!strchr("bBdDvV", kind) || at < last) continue;
        last = at;
        memcpy(name, found, sizeof name);
    }
    if (symbols) pclose(symbols);
    if (*name) snprintf(text, bytes, "the static variable `%s` (offset %llu)", name, place.offset - last);
}

typedef struct gc__os_data_search {
    void (*f)(void *context, uintptr_t start, uintptr_t end);
    void *context;
} gc__os_data_search;

GC__FN int gc__os_data_in(struct dl_phdr_info *file, size_t bytes, void *context) {
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
        if (start - hidden < hidden_end - hidden) start = hidden_end; /* written before the program began */
        if (start < end) search->f(search->context, start, end);
    }
    return 0;
}

GC__FN void gc__os_each_data(void (*f)(void *context, uintptr_t start, uintptr_t end), void *context) {
    gc__os_data_search search = {f, context};
    dl_iterate_phdr(gc__os_data_in, &search);
}
