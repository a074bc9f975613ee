/* A live process as a target; and opening and closing readers. */
#pragma once

#include "heaps.h"

#define GC__DAC_KERNEL_REGISTERS 34

/* The order of the kernel: where the pc and the stack pointer are. The registers before `count` may hold references. */
GC__DAC_FN bool gc__dac_registers(unsigned machine, const uint64_t *words, unsigned count, gc_dac_native *native) {
    static const struct {
        unsigned machine, pc, sp, general;
    } orders[] = {{EM_X86_64, 16, 19, 15}, {EM_AARCH64, 32, 31, 31}, {GC__IMAGE_RISCV, 0, 2, 32}, {EM_S390, 1, 17, 18}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (machine != orders[i].machine || count <= orders[i].pc || count <= orders[i].sp) continue;
        native->pc = words[orders[i].pc];
        native->sp = words[orders[i].sp];
        native->register_count = orders[i].general;
        memcpy(native->registers, words, orders[i].general * sizeof *words);
        return true;
    }
    return false;
}

typedef struct gc__dac_mapped {
    uint64_t start, end, offset;
    char *path;
} gc__dac_mapped;

typedef struct gc__dac_process {
    int tid; /* of a thread that has its memory */
    gc__dac_stops stops;
    gc__dac_mapped *mappings;
    size_t count, room;
    uint64_t readable_bytes;
} gc__dac_process;

GC__DAC_FN size_t gc__dac_process_read(void *context, uint64_t address, void *to, size_t bytes) {
    return gc__dac_os_read(((const gc__dac_process *)context)->tid, address, to, bytes);
}

GC__DAC_FN bool gc__dac_process_mapping(void *context, size_t i, gc_dac_mapping *mapping) {
    const gc__dac_process *process = (const gc__dac_process *)context;
    if (i >= process->count) return false;
    mapping->start = process->mappings[i].start;
    mapping->end = process->mappings[i].end;
    mapping->file_offset = process->mappings[i].offset;
    mapping->path = process->mappings[i].path;
    return true;
}

GC__DAC_FN bool gc__dac_process_native(void *context, size_t i, gc_dac_native *native) {
    const gc__dac_process *process = (const gc__dac_process *)context;
    uint64_t words[GC__DAC_KERNEL_REGISTERS];
    memset(native, 0, sizeof *native);
    if (i >= process->stops.count) return false;
    native->tid = (uint64_t)process->stops.threads[i].tid;
    unsigned count = gc__dac_os_registers(process->stops.threads[i].tid, words, GC__DAC_KERNEL_REGISTERS);
    gc__dac_registers(GC__IMAGE_MACHINE, words, count, native);
    return true;
}

GC__DAC_FN void gc__dac_process_close(void *context) {
    gc__dac_process *process = (gc__dac_process *)context;
    gc__dac_os_resume(&process->stops);
    for (size_t i = 0; i < process->count; i++) free(process->mappings[i].path);
    free(process->mappings);
    free(process);
}

/* Takes in a line of /proc/PID/maps. */
GC__DAC_FN bool gc__dac_process_line(gc__dac_process *process, const char *line) {
    unsigned long long start, end, offset;
    char access[8];
    int at = 0;
    if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &start, &end, access, &offset, &at) < 4) return true;
    if (process->count == process->room) {
        size_t room = process->room ? 2 * process->room : 64;
        void *mappings = realloc(process->mappings, room * sizeof *process->mappings);
        if (!mappings) return false;
        process->mappings = (gc__dac_mapped *)mappings;
        process->room = room;
    }
    gc__dac_mapped *mapping = &process->mappings[process->count];
    size_t length = at ? strcspn(line + at, "\n") : 0;
    mapping->start = start, mapping->end = end, mapping->offset = offset;
    mapping->path = (char *)malloc(length + 1);
    if (!mapping->path) return false;
    memcpy(mapping->path, line + at, length);
    mapping->path[length] = 0;
    process->count++;
    if (access[0] == 'r') process->readable_bytes += end - start;
    return true;
}

/* NULL, or why the mappings cannot be read. */
GC__DAC_FN const char *gc__dac_process_maps(gc__dac_process *process) {
    char name[64], line[5000];
    snprintf(name, sizeof name, "/proc/%d/maps", process->tid);
    FILE *file = fopen(name, "re");
    if (!file) return errno == ENOENT ? "there is no such process, or no /proc" : strerror(errno);
    bool memory = true;
    while (memory && fgets(line, sizeof line, file)) memory = gc__dac_process_line(process, line);
    fclose(file);
    if (!memory) return "there is no memory for the list of its mappings";
    return process->count ? NULL : "it has ended, or is not one that can be read";
}

/* An address that is readable: an ELF header's. */
GC__DAC_FN uint64_t gc__dac_process_probe(const gc__dac_process *process) {
    for (size_t i = 0; i < process->count; i++)
        if (process->mappings[i].path[0] == '/' && process->mappings[i].offset == 0) return process->mappings[i].start;
    return process->mappings[0].start;
}

/* A reader that is not open yet. NULL: no memory. */
GC__DAC_FN gc_dac *gc__dac_new(uint64_t target_bytes, uint64_t budget_bytes) {
    gc_dac *dac = (gc_dac *)calloc(1, sizeof *dac);
    if (!dac) return NULL;
    dac->target_bytes = target_bytes;
    dac->budget_bytes = budget_bytes;
    return dac;
}

/* From now on every call fails, and says why. */
GC__DAC_FN void gc__dac_reject(gc_dac *dac, const char *reason) {
    dac->rejected = reason;
    dac->depth = 1;
    gc__dac_this_call(dac)->message[0] = 0;
    gc__dac_fail(dac, "%s", reason);
    dac->depth = 0;
}

/* Looks for collectors. */
GC__DAC_FN gc_dac *gc__dac_opened(gc_dac *dac) {
    gc__dac_copies_find(dac);
    const char *fault = gc__dac_copies_fault(dac);
    if (fault) gc__dac_reject(dac, fault);
    return dac;
}

#define GC__DAC_BUDGET_BYTES ((uint64_t)4 << 30) /* for a target of unknown size */

GC_DAC_API gc_dac *gc_dac_open(const gc_dac_target *target) {
    gc_dac *dac = gc__dac_new((uint64_t)1 << 40, GC__DAC_BUDGET_BYTES);
    if (!dac) return NULL;
    dac->target = *target;
    return gc__dac_opened(dac);
}

GC_DAC_API gc_dac *gc_dac_open_process(int pid, unsigned flags) {
    gc_dac *dac = gc__dac_new(0, GC__DAC_BUDGET_BYTES);
    gc__dac_process *process = dac ? (gc__dac_process *)calloc(1, sizeof *process) : NULL;
    if (!process) {
        free(dac);
        return NULL;
    }
    gc_dac_target target = {
        process, gc__dac_process_read, NULL, gc__dac_process_mapping, gc__dac_process_native, gc__dac_process_close};
    dac->target = target;
    dac->moving = !(flags & GC_DAC_STOP);
    const char *fault = flags & GC_DAC_STOP ? gc__dac_os_stop(pid, &process->stops) : NULL;
    const char *step = fault ? "cannot be stopped" : "cannot be read";
    process->tid = gc__dac_os_living(pid);
    if (!fault) fault = gc__dac_process_maps(process);
    if (!fault) fault = gc__dac_os_refusal(process->tid, gc__dac_process_probe(process));
    dac->target_bytes = process->readable_bytes;
    if (!fault) return gc__dac_opened(dac);
    gc__dac_reject(dac, gc__dac_format(dac, "process %d %s: %s", pid, step, fault));
    return dac;
}

GC_DAC_API void gc_dac_close(gc_dac *dac) {
    if (!dac) return;
    if (dac->target.close) dac->target.close(dac->target.context);
    for (size_t i = 0; i < dac->copy_count; i++) gc__dac_places_free(dac, &dac->copies[i]);
    free(dac->copies);
    gc__dac_map_free(dac, &dac->types);
    gc__dac_map_free(dac, &dac->texts);
    while (dac->chunks) {
        gc__dac_chunk *chunk = dac->chunks;
        dac->chunks = chunk->next;
        free(chunk);
    }
    free(dac->blocks);
    free(dac->block_tags);
    free(dac->object);
    free(dac);
}

GC_DAC_API void gc_dac_set_host(gc_dac *dac, const gc_dac_host *host) { dac->host = *host; }

GC_DAC_API size_t gc_dac_read(gc_dac *dac, uint64_t address, void *to, size_t bytes) {
    size_t done = gc__dac_begin(dac) ? gc__dac_copy_memory(dac, address, to, bytes) : 0;
    gc__dac_end(dac);
    return done;
}

GC_DAC_API bool gc_dac_read_text(gc_dac *dac, uint64_t address, char *text, size_t room) {
    if (room) text[0] = 0;
    if (gc__dac_begin(dac) && (!room || !gc__dac_fetch_text(dac, address, text, room)))
        gc__dac_fail(dac, "there is no readable text at 0x%llx", (unsigned long long)address);
    return gc__dac_end(dac);
}
