/* An ELF core file as a target. What it lacks of the program's files is read from these, once they have been compared. */
#pragma once

#include "process.h"

#define GC__DAC_PAGE ((uint64_t)4096) /* the first page of a program's file, which cores have */

/* Memory that the core has: bytes of its file. */
typedef struct gc__dac_segment {
    uint64_t start, end, offset;
} gc__dac_segment;

/* A file of the program. Several mappings may be of one. */
typedef struct gc__dac_image {
    char *path;
    gc__image file;
    bool tried, usable;
} gc__dac_image;

typedef struct gc__dac_part {
    uint64_t start, end, offset;
    size_t image;
} gc__dac_part;

#define GC__DAC_REACHED_MAX ((size_t)64 << 20)

typedef struct gc__dac_core {
    gc_dac *dac;
    gc__image file;
    bool is_on_disk; /* the bytes are those of a file */
    size_t reached;  /* bytes that were looked at since its pages were let go */
    const char *root;
    unsigned machine;
    gc__dac_segment *segments;
    size_t segment_count;
    gc__dac_part *parts; /* of NT_FILE, ascending */
    size_t part_count;
    gc__dac_image *images;
    size_t image_count;
    gc_dac_native *natives;
    size_t native_count, native_room;
} gc__dac_core;

/* The segment that has the address; NULL: none. */
GC__DAC_FN const gc__dac_segment *gc__dac_segment_of(const gc__dac_core *core, uint64_t address) {
    size_t low = 0, high = core->segment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (core->segments[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < core->segment_count && core->segments[low].start <= address ? &core->segments[low] : NULL;
}

GC__DAC_FN const gc__dac_part *gc__dac_part_of(const gc__dac_core *core, uint64_t address) {
    size_t low = 0, high = core->part_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (core->parts[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < core->part_count && core->parts[low].start <= address ? &core->parts[low] : NULL;
}

/* Whether the file is the one that the program had. The core has its first page, or else nothing can be compared. */
GC__DAC_FN const char *gc__dac_image_fault(const gc__dac_core *core, size_t number) {
    const gc__image *file = &core->images[number].file;
    for (size_t i = 0; i < core->part_count; i++) {
        const gc__dac_part *part = &core->parts[i];
        if (part->image != number || part->offset) continue;
        const gc__dac_segment *segment = gc__dac_segment_of(core, part->start);
        if (!segment || segment->end - part->start < GC__DAC_PAGE) continue;
        const uint8_t *page = core->file.bytes + segment->offset + (part->start - segment->start);
        size_t bytes = file->size < GC__DAC_PAGE ? file->size : (size_t)GC__DAC_PAGE, mine = 0, its = 0;
        if (memcmp(page, file->bytes, bytes) == 0) return NULL;
        gc__image start = {page, (size_t)GC__DAC_PAGE};
        const uint8_t *a = gc__image_build_id(&start, &mine), *b = gc__image_build_id(file, &its);
        if (a && b && mine == its && memcmp(a, b, mine) == 0) return NULL;
        return a && b ? "its build id is another one: it was built anew since" : "its first page is another one";
    }
    return "the core does not have its first page, so nothing shows that it is the same file";
}

/* Opens the image when it is first needed. NULL: it is not usable; the reader's complaint says why. */
GC__DAC_FN const gc__image *gc__dac_image_use(gc__dac_core *core, size_t number) {
    gc__dac_image *image = &core->images[number];
    if (image->tried) return image->usable ? &image->file : NULL;
    image->tried = true;
    if (image->path[0] != '/') return NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s%s", core->root ? core->root : "", image->path);
    size_t length = strlen(path), suffix = sizeof " (deleted)" - 1;
    if (length > suffix && strcmp(path + length - suffix, " (deleted)") == 0) path[length - suffix] = 0;
    const char *fault = gc__image_map(path, &image->file);
    if (!fault) fault = gc__dac_image_fault(core, number);
    image->usable = !fault;
    if (fault && !core->dac->complaint[0])
        snprintf(core->dac->complaint, sizeof core->dac->complaint,
                 "; %.600s, which has what the core lacks, cannot be used: %s", path, fault);
    return fault ? NULL : &image->file;
}

GC__DAC_FN const void *gc__dac_core_at(void *context, uint64_t address, size_t bytes) {
    gc__dac_core *core = (gc__dac_core *)context;
    const gc__dac_segment *segment = gc__dac_segment_of(core, address);
    if (segment) {
        core->reached += bytes;
        if (core->is_on_disk && core->reached > GC__DAC_REACHED_MAX) {
            gc__dac_os_let_go(&core->file);
            core->reached = 0;
        }
        return segment->end - address >= bytes ? core->file.bytes + segment->offset + (address - segment->start) : NULL;
    }
    const gc__dac_part *part = gc__dac_part_of(core, address);
    if (!part || part->end - address < bytes) return NULL;
    /* The segment may begin within the part: what was written of it. */
    const gc__image *file = gc__dac_image_use(core, part->image);
    uint64_t offset = part->offset + (address - part->start);
    if (!file || offset > file->size || file->size - offset < bytes) return NULL;
    for (uint64_t at = address; at - address < bytes; at += GC__DAC_PAGE)
        if (gc__dac_segment_of(core, at)) return NULL;
    return file->bytes + offset;
}

GC__DAC_FN size_t gc__dac_core_read(void *context, uint64_t address, void *to, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
        uint64_t at = address + done, page = GC__DAC_PAGE - at % GC__DAC_PAGE;
        gc__dac_core *core = (gc__dac_core *)context;
        const gc__dac_segment *segment = gc__dac_segment_of(core, at);
        uint64_t part = segment ? segment->end - at : page;
        if (part > bytes - done) part = bytes - done;
        const void *from = gc__dac_core_at(context, at, (size_t)part);
        if (!from) break;
        memcpy((char *)to + done, from, (size_t)part);
        done += (size_t)part;
    }
    return done;
}

GC__DAC_FN bool gc__dac_core_mapping(void *context, size_t i, gc_dac_mapping *mapping) {
    const gc__dac_core *core = (const gc__dac_core *)context;
    if (i >= core->part_count) return false;
    mapping->start = core->parts[i].start;
    mapping->end = core->parts[i].end;
    mapping->file_offset = core->parts[i].offset;
    mapping->path = core->images[core->parts[i].image].path;
    return true;
}

GC__DAC_FN bool gc__dac_core_native(void *context, size_t i, gc_dac_native *native) {
    const gc__dac_core *core = (const gc__dac_core *)context;
    if (i >= core->native_count) return false;
    *native = core->natives[i];
    return true;
}

GC__DAC_FN void gc__dac_core_close(void *context) {
    gc__dac_core *core = (gc__dac_core *)context;
    for (size_t i = 0; i < core->image_count; i++) gc__image_unmap(&core->images[i].file);
    gc__image_unmap(&core->file);
    free(core->segments);
    free(core->parts);
    free(core->images);
    free(core->natives);
    free((char *)(uintptr_t)core->root);
    free(core);
}

GC__DAC_FN uint64_t gc__dac_core_u64(const gc__dac_core *core, uint64_t offset) {
    uint64_t word;
    memcpy(&word, core->file.bytes + offset, sizeof word);
    return word;
}

/* Reads the registers of a thread. */
GC__DAC_FN void gc__dac_core_prstatus(gc__dac_core *core, uint64_t at, uint64_t bytes) {
    uint64_t words[GC__DAC_KERNEL_REGISTERS];
    uint32_t tid;
    if (bytes < 112 + 8) return;
    if (core->native_count == core->native_room) {
        size_t room = core->native_room ? 2 * core->native_room : 16;
        void *natives = realloc(core->natives, room * sizeof *core->natives);
        if (!natives) return;
        core->natives = (gc_dac_native *)natives;
        core->native_room = room;
    }
    uint64_t count = (bytes - 112) / 8;
    if (count > GC__DAC_KERNEL_REGISTERS) count = GC__DAC_KERNEL_REGISTERS;
    memcpy(words, core->file.bytes + at + 112, (size_t)count * 8);
    memcpy(&tid, core->file.bytes + at + 32, sizeof tid);
    gc_dac_native *native = &core->natives[core->native_count];
    memset(native, 0, sizeof *native);
    native->tid = tid;
    if (gc__dac_registers(core->machine, words, (unsigned)count, native)) core->native_count++;
}

/* Reads the list of mapped files. The unit of its offsets differs: the kernel counts pages, gcore bytes. */
GC__DAC_FN const char *gc__dac_core_files(gc__dac_core *core, uint64_t at, uint64_t bytes) {
    if (core->parts || bytes < 16) return NULL;
    uint64_t count = gc__dac_core_u64(core, at), unit = gc__dac_core_u64(core, at + 8);
    if (count > (bytes - 16) / 24) return "its list of files is damaged";
    const char *path = (const char *)core->file.bytes + at + 16 + count * 24;
    const char *end = (const char *)core->file.bytes + at + bytes;
    core->parts = (gc__dac_part *)calloc((size_t)count + 1, sizeof *core->parts);
    core->images = (gc__dac_image *)calloc((size_t)count + 1, sizeof *core->images);
    if (!core->parts || !core->images) return "the system gives no memory to the reader";
    for (uint64_t i = 0; i < count && path < end; i++) {
        const char *zero = (const char *)memchr(path, 0, (size_t)(end - path));
        if (!zero) return "its list of files is damaged";
        gc__dac_part *part = &core->parts[core->part_count];
        part->start = gc__dac_core_u64(core, at + 16 + i * 24);
        part->end = gc__dac_core_u64(core, at + 24 + i * 24);
        part->offset = gc__dac_core_u64(core, at + 32 + i * 24) * unit;
        if (part->start >= part->end || (core->part_count && part->start < part[-1].end))
            return "its list of files is damaged";
        /* Mappings of one file follow one another. */
        if (!core->image_count || strcmp(core->images[core->image_count - 1].path, path) != 0)
            core->images[core->image_count++].path = (char *)(uintptr_t)path;
        part->image = core->image_count - 1;
        core->part_count++;
        path = zero + 1;
    }
    return NULL;
}

GC__DAC_FN const char *gc__dac_core_notes(gc__dac_core *core, uint64_t at, uint64_t end) {
    Elf64_Nhdr note;
    const char *fault = NULL;
    while (!fault && at < end && end - at >= sizeof note) {
        memcpy(&note, core->file.bytes + at, sizeof note);
        uint64_t name = at + sizeof note, contents = name + (((uint64_t)note.n_namesz + 3) & ~(uint64_t)3);
        if (contents > end || note.n_descsz > end - contents) return NULL;
        if (note.n_namesz == 5 && memcmp(core->file.bytes + name, "CORE", 5) == 0) {
            if (note.n_type == NT_PRSTATUS) gc__dac_core_prstatus(core, contents, note.n_descsz);
            if (note.n_type == NT_FILE) fault = gc__dac_core_files(core, contents, note.n_descsz);
        }
        at = contents + (((uint64_t)note.n_descsz + 3) & ~(uint64_t)3);
    }
    return fault;
}

GC__DAC_FN int gc__dac_segment_order(const void *a, const void *b) {
    uint64_t left = ((const gc__dac_segment *)a)->start, right = ((const gc__dac_segment *)b)->start;
    return (left > right) - (left < right);
}

/* Reads the program headers. */
GC__DAC_FN const char *gc__dac_core_headers(gc__dac_core *core, const Elf64_Ehdr *header, uint64_t count) {
    uint64_t total = 0;
    const uint64_t size = core->file.size;
    if (header->e_phoff > size || count > (size - header->e_phoff) / sizeof(Elf64_Phdr))
        return "it is cut off, or damaged";
    core->segments = (gc__dac_segment *)calloc((size_t)count + 1, sizeof *core->segments);
    if (!core->segments) return "the system gives no memory to the reader";
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Phdr part;
        memcpy(&part, core->file.bytes + header->e_phoff + i * sizeof part, sizeof part);
        bool cut = part.p_offset > size || part.p_filesz > size - part.p_offset;
        if (cut && part.p_filesz && !core->dac->complaint[0])
            snprintf(core->dac->complaint, sizeof core->dac->complaint, "; the core is cut off: raise `ulimit -c`");
        if (cut) part.p_filesz = part.p_offset > size ? 0 : size - part.p_offset;
        if (part.p_type == PT_NOTE) {
            const char *fault = gc__dac_core_notes(core, part.p_offset, part.p_offset + part.p_filesz);
            if (fault) return fault;
        }
        if (part.p_type != PT_LOAD || !part.p_filesz || part.p_filesz > part.p_memsz) continue;
        gc__dac_segment segment = {part.p_vaddr, part.p_vaddr + part.p_filesz, part.p_offset};
        total += part.p_filesz;
        if (segment.end < segment.start || total > size) return "its segments overlap: it is damaged";
        core->segments[core->segment_count++] = segment;
    }
    qsort(core->segments, core->segment_count, sizeof *core->segments, gc__dac_segment_order);
    for (size_t i = 1; i < core->segment_count; i++)
        if (core->segments[i].start < core->segments[i - 1].end) return "its segments overlap: it is damaged";
    return NULL;
}

/* What the file is, if it is no core. */
GC__DAC_FN const char *gc__dac_core_kind(const gc__image *file) {
    static const struct {
        const char magic[7], *kind;
    } known[] = {{"\x28\xB5\x2F\xFD", "it is compressed by zstd: unpack it by `zstd -d`, or `coredumpctl dump`"},
                 {"\x04\x22\x4D\x18", "it is compressed by lz4: unpack it by `lz4 -d`, or `coredumpctl dump`"},
                 {"\xFD"
                  "7zXZ",
                  "it is compressed by xz: unpack it by `xz -d`, or `coredumpctl dump`"},
                 {"\x1F\x8B", "it is compressed by gzip: unpack it by `gzip -d`"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i].magic);
        if (file->size >= length && memcmp(file->bytes, known[i].magic, length) == 0) return known[i].kind;
    }
    return "it is no ELF file";
}

/* NULL, or why the file cannot be read as a core. */
GC__DAC_FN const char *gc__dac_core_parse(gc__dac_core *core) {
    Elf64_Ehdr header;
    if (core->file.size < sizeof header || memcmp(core->file.bytes, ELFMAG, SELFMAG) != 0)
        return gc__dac_core_kind(&core->file);
    memcpy(&header, core->file.bytes, sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != GC__IMAGE_ORDER)
        return "it is of a program that is not 64-bit, or has another order of bytes than this one";
    if (header.e_type != ET_CORE) return "it is an ELF file, but no core";
    if (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64 && header.e_machine != GC__IMAGE_MACHINE)
        return "it is of a processor that gc.h does not know";
    if (header.e_phentsize != sizeof(Elf64_Phdr)) return "it is damaged";
    core->machine = header.e_machine;
    uint64_t count = header.e_phnum;
    if (count == PN_XNUM) {
        Elf64_Shdr first;
        if (header.e_shoff > core->file.size || core->file.size - header.e_shoff < sizeof first)
            return "it is cut off, or damaged";
        memcpy(&first, core->file.bytes + header.e_shoff, sizeof first);
        count = first.sh_info;
    }
    return gc__dac_core_headers(core, &header, count);
}

/* Makes the mapped file the reader's target; closes it in the end. `root` is copied. */
GC__DAC_FN const char *gc__dac_core_use(gc_dac *dac, gc__dac_core *core, const char *root) {
    gc_dac_target target = {
        core, gc__dac_core_read, gc__dac_core_at, gc__dac_core_mapping, gc__dac_core_native, gc__dac_core_close};
    char *copied = root ? (char *)malloc(strlen(root) + 1) : NULL;
    if (copied) strcpy(copied, root);
    core->root = copied;
    core->dac = dac;
    dac->target = target;
    dac->target_bytes = core->file.size;
    dac->budget_bytes = ((uint64_t)64 << 20) + 2 * core->file.size;
    return root && !copied ? "the system gives no memory to the reader" : gc__dac_core_parse(core);
}

GC_DAC_API gc_dac *gc_dac_open_core(const char *path, const char *root) {
    gc_dac *dac = gc__dac_new(0, GC__DAC_BUDGET_BYTES);
    gc__dac_core *core = dac ? (gc__dac_core *)calloc(1, sizeof *core) : NULL;
    if (!core) {
        free(dac);
        return NULL;
    }
    const char *fault = gc__image_map(path, &core->file);
    core->is_on_disk = !fault;
    const char *refused = gc__dac_core_use(dac, core, root);
    if (!fault) fault = refused;
    if (!fault) return gc__dac_opened(dac);
    gc__dac_reject(dac, gc__dac_format(dac, "the core file %.500s: %s", path, fault));
    return dac;
}
