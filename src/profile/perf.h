/* Names of compiled code for Linux's perf: the perf map, lines "START BYTES NAME" that perf report reads at the end; and the
   jitdump, a file of records with times, the code itself and its lines, which perf inject turns into files with symbols. Its
   name and a page of it that is mapped executable are how perf finds it. */
#pragma once

#include "../base/outside.h"
#include "../base/words.h"
#include "../api/profile.h"
#include "../platform/file_linux.h"
#include "../platform/image.h"
#include "../platform/platform.h"

typedef struct gc__perf_file {
    int file; /* 0: not written */
    gc__os_file_identity identity;
} gc__perf_file;

typedef struct gc__perf {
    gc__perf_file map, dump;
    void *marker;  /* the mapped page of the dump */
    uint64_t count;
} gc__perf;

static gc__perf gc__the_perf; /* profile lock */

#define GC__JITDUMP_MAGIC 0x4A695444u
enum { GC__JITDUMP_LOAD = 0, GC__JITDUMP_LINES = 2, GC__JITDUMP_CLOSE = 3 };

typedef struct gc__jitdump_head {
    uint32_t magic, version, bytes, machine, pad, process;
    uint64_t time_ns, flags;
} gc__jitdump_head;

/* Ahead of every record. */
typedef struct gc__jitdump_record {
    uint32_t kind, bytes;
    uint64_t time_ns;
} gc__jitdump_record;

/* The code's name with its 0, and the code, follow. */
typedef struct gc__jitdump_load {
    gc__jitdump_record record;
    uint32_t process, thread;
    uint64_t address, code_address, code_bytes, index;
} gc__jitdump_load;

/* A line for each place in the code follows, with the name of its file. */
typedef struct gc__jitdump_lines {
    gc__jitdump_record record;
    uint64_t code_address, count;
} gc__jitdump_lines;

typedef struct gc__jitdump_line {
    uint64_t address;
    uint32_t line, discriminator;
} gc__jitdump_line;

GC__STATIC_ASSERT(sizeof(gc__jitdump_head) == 40 && sizeof(gc__jitdump_load) == 56 && sizeof(gc__jitdump_lines) == 32 &&
                      sizeof(gc__jitdump_line) == 16,
                  "perf knows these layouts");

GC__FN void gc__perf_close_file(gc__perf_file *self) {
    if (self->file && gc__os_file_is(self->file, &self->identity)) gc__os_file_close(self->file);
    self->file = 0;
}

/* A process that was forked forgets the files of its parent. */
GC__FN void gc__perf_forget(void) {
    gc__perf_close_file(&gc__the_perf.map);
    gc__perf_close_file(&gc__the_perf.dump);
    if (gc__the_perf.marker) gc__os_unmap(gc__the_perf.marker, gc__os_page_bytes());
    memset(&gc__the_perf, 0, sizeof gc__the_perf);
}

/* Writes to one of the files, which is given up if that fails. */
GC__FN void gc__perf_write(gc__perf_file *self, const void *data, size_t bytes) {
    if (!self->file) return;
    bool same = gc__os_file_is(self->file, &self->identity);
    if (!same || !gc__os_file_write(self->file, data, bytes, -1)) gc__perf_close_file(self);
}

/* False: the file could not be opened. */
GC__FN bool gc__perf_take(gc__perf_file *self, int file) {
    if (file <= 0) return false;
    self->file = file;
    self->identity = gc__os_file_identify(file);
    return true;
}

GC__FN bool gc__perf_open_map(void) {
    char name[64];
    snprintf(name, sizeof name, GC__PERF_MAP, gc__os_process_number());
    return gc__perf_take(&gc__the_perf.map, gc__os_file_create_own(name));
}

GC__FN bool gc__perf_open_dump(void) {
    char name[GC__NAME_BYTES_MAX];
    gc__jitdump_head head = {GC__JITDUMP_MAGIC, 1, sizeof head, GC__IMAGE_MACHINE, 0, gc__os_process_number(),
                             gc__os_now_ns(),   0};
    const char *folder = gc__setting("JITDUMPDIR");
    snprintf(name, sizeof name, "%s/jit-%u.dump", folder && *folder ? folder : ".", head.process);
    int file = gc__os_file_create_own(name);
    if (!gc__perf_take(&gc__the_perf.dump, file)) return false;
    gc__perf_write(&gc__the_perf.dump, &head, sizeof head);
    gc__the_perf.marker = gc__the_perf.dump.file ? gc__os_file_map_code(file, gc__os_page_bytes()) : NULL;
    return gc__the_perf.marker != NULL;
}

/* Opens what the options ask for. False: a file cannot be written. */
GC__FN bool gc__perf_open(unsigned perf) {
    bool ok = true;
    gc__perf_forget();
    if (perf & GC_PROFILE_PERF_MAP) ok = gc__perf_open_map();
    if (perf & GC_PROFILE_JITDUMP) ok = gc__perf_open_dump() && ok;
    return ok;
}

GC__FN void gc__perf_map_code(const void *start, size_t bytes, const char *name) {
    char line[1024];
    int length = snprintf(line, sizeof line, "%llx %llx %s", (unsigned long long)(uintptr_t)start,
                          (unsigned long long)bytes, name);
    if (length < 0) return;
    size_t used = gc__min((size_t)length, sizeof line - 1);
    for (size_t i = 0; i < used; i++)
        if ((unsigned char)line[i] < ' ') line[i] = ' ';
    line[used] = '\n';
    gc__perf_write(&gc__the_perf.map, line, used + 1);
}

/* The lines come before their code. One more ends the list. */
GC__FN void gc__perf_dump_lines(const void *start, size_t bytes, const gc_profile_line *lines, size_t count,
                                uint64_t now_ns) {
    gc__jitdump_lines head = {{GC__JITDUMP_LINES, sizeof head, now_ns}, (uintptr_t)start, count + 1};
    for (size_t i = 0; i <= count; i++) {
        const gc_profile_line *line = &lines[i < count ? i : count - 1];
        head.record.bytes += (uint32_t)(sizeof(gc__jitdump_line) + (line->file ? strlen(line->file) : 0) + 1);
    }
    gc__perf_write(&gc__the_perf.dump, &head, sizeof head);
    for (size_t i = 0; i <= count; i++) {
        const gc_profile_line *line = &lines[i < count ? i : count - 1];
        gc__jitdump_line entry = {i < count ? line->address : (uintptr_t)start + bytes, line->line, 0};
        const char *file = line->file ? line->file : "";
        gc__perf_write(&gc__the_perf.dump, &entry, sizeof entry);
        gc__perf_write(&gc__the_perf.dump, file, strlen(file) + 1);
    }
}

/* Says to perf that the code is there. */
GC__FN void gc__perf_note(const void *start, size_t bytes, const char *name, const gc_profile_line *lines,
                          size_t line_count) {
    gc__perf *perf = &gc__the_perf;
    if (perf->map.file) gc__perf_map_code(start, bytes, name);
    if (!perf->dump.file) return;
    uint64_t now = gc__os_now_ns();
    if (line_count) gc__perf_dump_lines(start, bytes, lines, line_count, now);
    gc__jitdump_load load = {{GC__JITDUMP_LOAD, (uint32_t)(sizeof load + strlen(name) + 1 + bytes), now},
                             gc__os_process_number(),
                             gc__os_thread_number(),
                             (uintptr_t)start,
                             (uintptr_t)start,
                             bytes,
                             ++perf->count};
    gc__perf_write(&perf->dump, &load, sizeof load);
    gc__perf_write(&perf->dump, name, strlen(name) + 1);
    gc__perf_write(&perf->dump, start, bytes);
}

/* The end of the profile. */
GC__FN void gc__perf_close(void) {
    gc__jitdump_record end = {GC__JITDUMP_CLOSE, sizeof end, gc__os_now_ns()};
    gc__perf_write(&gc__the_perf.dump, &end, sizeof end);
    gc__perf_forget();
}
