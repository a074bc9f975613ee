/* Finding collectors in the target: the notes of its files, and the records to which they lead. */
#pragma once

#include "reader.h"

#define GC__DAC_NOTES_MAX ((uint64_t)1 << 20)
#define GC__DAC_HEADERS_MAX 512

/* A file of the target at the address where it is mapped. */
typedef struct gc__dac_module {
    uint64_t start, bias;
    const char *path;
    Elf64_Ehdr header;
} gc__dac_module;

/* A variable's address; 0: this collector has no such variable. */
GC__DAC_FN uint64_t gc__dac_variable(const gc__dac_copy *copy, unsigned number) {
    return number < copy->variable_count ? copy->variables[number] : 0;
}

GC__DAC_FN uint64_t gc__dac_fact(const gc__dac_copy *copy, unsigned number) {
    return number < copy->fact_count ? copy->facts[number] : 0;
}

/* Whether the collector says where the member is: one of an older minor version may not. */
GC__DAC_FN bool gc__dac_has(const gc__dac_copy *copy, unsigned number) { return number < copy->member_count; }

GC__DAC_FN uint64_t gc__dac_at(const gc__dac_copy *copy, uint64_t record, unsigned number) {
    return record + (gc__dac_has(copy, number) ? copy->members[number] : 0);
}

/* A member of 8, 4 or 1 bytes; 0 if it is not there or not readable. */
GC__DAC_FN uint64_t gc__dac_member(gc_dac *dac, const gc__dac_copy *copy, uint64_t record, unsigned number) {
    return gc__dac_has(copy, number) && record ? gc__dac_u64(dac, record + copy->members[number]) : 0;
}
GC__DAC_FN uint32_t gc__dac_member32(gc_dac *dac, const gc__dac_copy *copy, uint64_t record, unsigned number) {
    uint32_t word = 0;
    if (gc__dac_has(copy, number) && record) gc__dac_load(dac, record + copy->members[number], &word, sizeof word);
    return word;
}
GC__DAC_FN uint8_t gc__dac_member8(gc_dac *dac, const gc__dac_copy *copy, uint64_t record, unsigned number) {
    uint8_t word = 0;
    if (gc__dac_has(copy, number) && record) gc__dac_load(dac, record + copy->members[number], &word, sizeof word);
    return word;
}

/* Reads the lists of a record, of each as much as both sides have. */
GC__DAC_FN bool gc__dac_copy_lists(gc_dac *dac, gc__dac_copy *copy, const uint16_t counts[4]) {
    uint64_t at = copy->info.vars + offsetof(GcDacVars, variables);
    unsigned *mine[4] = {&copy->variable_count, &copy->fact_count, &copy->member_count, &copy->statistic_count};
    const unsigned known[4] = {GC__DAC_VARIABLE_COUNT, GC__DAC_FACT_COUNT, GC__DAC_AT_COUNT, GC__DAC_STATISTIC_COUNT};
    const size_t bytes[4] = {8, 4, 2, 4};
    void *to[4] = {copy->variables, copy->facts, copy->members, copy->statistics};
    bool ok = true;
    for (int i = 0; i < 4 && ok; at += counts[i] * bytes[i], i++) {
        *mine[i] = counts[i] < known[i] ? counts[i] : known[i];
        ok = gc__dac_load(dac, at, to[i], *mine[i] * bytes[i]);
    }
    return ok;
}

/* Why the record's numbers cannot be those of a collector; NULL: they can. */
GC__DAC_FN const char *gc__dac_copy_fault(const gc__dac_copy *copy) {
    uint64_t shift = gc__dac_fact(copy, GC__DAC_FACT_REGION_SHIFT),
             generations = gc__dac_fact(copy, GC__DAC_FACT_GENERATIONS);
    uint64_t region = gc__dac_fact(copy, GC__DAC_FACT_REGION_BYTES),
             least = gc__dac_fact(copy, GC__DAC_FACT_OBJECT_BYTES_MIN);
    uint64_t block = gc__dac_fact(copy, GC__DAC_FACT_SEGMENT_BLOCK),
             places = gc__dac_fact(copy, GC__DAC_FACT_SEGMENT_PLACES);
    if (shift < 12 || shift > 40) return "the size of a region";
    if (generations < 1 || generations > 16) return "the number of generations";
    if (region < 32 || region > 4096) return "the size of a region's record";
    if (least < 8 || least > 256 || least % 8) return "the least size of an object";
    if (!block || block > 65536 || places > ((uint64_t)1 << 20)) return "the size of a segment of handles";
    if (gc__dac_fact(copy, GC__DAC_FACT_FILLER_SHIFT) > 16) return "the size of a filler";
    if (gc__dac_fact(copy, GC__DAC_FACT_MARK_SHIFT) != 3) return "the distance of mark bits";
    return NULL;
}

/* Reads the record at `address`. The copy is rejected, with the reason, if it is of another major version. */
GC__DAC_FN void gc__dac_copy_read(gc_dac *dac, gc__dac_copy *copy, uint64_t address, const char *module) {
    GcDacVars head;
    const size_t fixed = offsetof(GcDacVars, variables);
    memset(&head, 0, sizeof head);
    copy->info.vars = address;
    copy->info.module = module;
    copy->info.version = "";
    if (gc__dac_copy_memory(dac, address, &head, fixed) < fixed || head.magic != GC__DAC_MAGIC) {
        copy->info.rejected =
            gc__dac_format(dac, "the note of %s leads to 0x%llx, where there is no description of a collector", module,
                           (unsigned long long)address);
        return;
    }
    head.version[sizeof head.version - 1] = 0;
    copy->info.major = head.major;
    copy->info.minor = head.minor;
    copy->info.version = gc__dac_format(dac, "%s", head.version);
    if (head.major != GC_DAC_MAJOR) {
        copy->info.rejected = gc__dac_format(dac,
                                             "%s has gc.h %s, whose description is of version %u.%u, and this reader "
                                             "understands %d.x (it is %d.%d): use the "
                                             "gc_dac.h that came with that gc.h",
                                             module, copy->info.version, head.major, head.minor, GC_DAC_MAJOR,
                                             GC_DAC_MAJOR, GC_DAC_MINOR);
        return;
    }
    const uint16_t counts[4] = {head.variable_count, head.fact_count, head.member_count, head.statistic_count};
    const char *fault = gc__dac_copy_lists(dac, copy, counts) ? gc__dac_copy_fault(copy) : "its length";
    copy->info.region_bytes = fault ? 0 : (uint64_t)1 << gc__dac_fact(copy, GC__DAC_FACT_REGION_SHIFT);
    if (fault)
        copy->info.rejected =
            gc__dac_format(dac, "the description of the collector in %s is damaged: %s is wrong", module, fault);
}

/* Adds the collector to which a note leads, once. */
GC__DAC_FN bool gc__dac_note_found(gc_dac *dac, const gc__dac_module *module, uint64_t field) {
    uint64_t address = field + gc__dac_u64(dac, field);
    for (size_t i = 0; i < dac->copy_count; i++)
        if (dac->copies[i].info.vars == address) return true;
    if (dac->copy_count >= 64) return gc__dac_fail(dac, "there are more than 64 collectors: the rest is left out");
    gc__dac_copy *copies = (gc__dac_copy *)gc__dac_allocate(dac, dac->copy_count + 1, sizeof *copies);
    if (!copies) return false;
    if (dac->copy_count) memcpy(copies, dac->copies, dac->copy_count * sizeof *copies);
    gc__dac_free(dac, dac->copies, dac->copy_count, sizeof *copies);
    dac->copies = copies;
    copies += dac->copy_count;
    copies->info.index = (unsigned)dac->copy_count++;
    gc__dac_copy_read(dac, copies, address, module->path);
    return true;
}

/* Goes through the notes in [at, end). */
GC__DAC_FN void gc__dac_notes(gc_dac *dac, const gc__dac_module *module, uint64_t at, uint64_t end,
                              uint64_t alignment) {
    alignment = alignment == 8 ? 8 : 4;
    while (end - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        char owner[8] = "";
        if (gc__dac_copy_memory(dac, at, &note, sizeof note) < sizeof note) return;
        uint64_t name = at + sizeof note, contents = name + ((note.n_namesz + alignment - 1) & ~(alignment - 1));
        uint64_t next = contents + ((note.n_descsz + alignment - 1) & ~(alignment - 1));
        if (next <= at || next > end + 8) return;
        if (note.n_namesz == sizeof GC__DAC_NOTE_OWNER && note.n_descsz >= 8 && note.n_type == GC__DAC_NOTE_TYPE &&
            gc__dac_copy_memory(dac, name, owner, note.n_namesz) == note.n_namesz &&
            memcmp(owner, GC__DAC_NOTE_OWNER, note.n_namesz) == 0)
            gc__dac_note_found(dac, module, contents);
        at = next;
        if (at >= end) return;
    }
}

/* Reads the header of a file that is mapped at `start`. False: it is no ELF file, or of another kind of machine. */
GC__DAC_FN bool gc__dac_module_read(gc_dac *dac, uint64_t start, const char *path, gc__dac_module *module) {
    Elf64_Ehdr *header = &module->header;
    module->start = start;
    module->path = path;
    if (gc__dac_copy_memory(dac, start, header, sizeof *header) < sizeof *header) return false;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != GC__IMAGE_ORDER) {
        gc__dac_fail(dac, "%s is no 64-bit program with the order of bytes of this one", path);
        return false;
    }
    return header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phnum <= GC__DAC_HEADERS_MAX;
}

/* Goes through the notes of a mapped file. */
GC__DAC_FN void gc__dac_module_scan(gc_dac *dac, uint64_t start, const char *path) {
    gc__dac_module module;
    Elf64_Phdr part;
    bool based = false;
    if (!gc__dac_module_read(dac, start, path, &module)) return;
    for (int pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < module.header.e_phnum; i++) {
            uint64_t at = start + module.header.e_phoff + i * sizeof part;
            if (gc__dac_copy_memory(dac, at, &part, sizeof part) < sizeof part) return;
            if (!pass && part.p_type == PT_LOAD && !based) {
                module.bias = start - (part.p_vaddr - part.p_offset);
                based = true;
            }
            uint64_t from = module.bias + part.p_vaddr;
            if (pass && based && part.p_type == PT_NOTE && part.p_memsz <= GC__DAC_NOTES_MAX &&
                from + part.p_memsz >= from)
                gc__dac_notes(dac, &module, from, from + part.p_memsz, part.p_align);
        }
}

GC_DAC_API bool gc_dac_mapping_at(gc_dac *dac, uint64_t address, gc_dac_mapping *mapping) {
    for (size_t i = 0; dac->target.mapping && dac->target.mapping(dac->target.context, i, mapping); i++)
        if (address >= mapping->start && address < mapping->end) return true;
    return false;
}

/* Finds the collectors of all files. */
GC__DAC_FN void gc__dac_copies_find(gc_dac *dac) {
    gc_dac_mapping mapping;
    uint64_t last = 0;
    for (size_t i = 0; dac->target.mapping && dac->target.mapping(dac->target.context, i, &mapping); i++) {
        if (mapping.file_offset != 0 || !mapping.path || !mapping.path[0] || (i && mapping.start == last)) continue;
        last = mapping.start;
        char path[1024];
        snprintf(path, sizeof path, "%s", mapping.path);
        gc__dac_module_scan(dac, mapping.start, gc__dac_format(dac, "%s", path));
    }
}

/* The reason, if no collector can be read at all. */
GC__DAC_FN const char *gc__dac_copies_fault(gc_dac *dac) {
    for (size_t i = 0; i < dac->copy_count; i++)
        if (!dac->copies[i].info.rejected) return NULL;
    if (dac->copy_count) return dac->copies[0].info.rejected;
    const char *faults = gc__dac_this_call(dac)->message;
    if (faults[0] || dac->complaint[0])
        return gc__dac_format(dac, "no file of the target has a readable note of gc.h%s%s%s", faults[0] ? "; " : "",
                              faults, dac->complaint);
    return "no file of the target has a note of gc.h: it does not use gc.h, or one that is older than gc_dac.h, or was "
           "compiled with GC_DIAGNOSTICS=0";
}
