/* Makes the seed of tests/fuzz/dac.c, a core of a few KB: gcc -Isrc tests/fuzz/seeds/dac.c -o build/seed && build/seed FILE. It has a
   heap with one of everything, but only the memory that the reader looks at, and types in written memory. */
#define GC_REGION_SHIFT 16
#define GC_ARENA_BYTES ((size_t)1 << 20)
#define GC_IMPLEMENTATION
#include "gc.h"
#include <elf.h>

typedef struct cell {
    gc_object header;
    struct cell *next;
    uint64_t value;
} cell;
typedef struct list {
    gc_array header;
    cell *items[];
} list;

static char names[3][16] = {"cell", "list", "next"};
static gc_type cell_type = GC_TYPE(cell, next), list_type = GC_TYPE_ARRAY(list, items);
static gc_type weak_type = GC_TYPE_ARRAY_TRACED(list, items, gc_trace_weak);
static cell *reported, *entries[3];
static gc_value_stack values;
static gc_frame_site site = {names[2], names[0], names[1], 7, 0};

#define RANGES_MAX 64
static struct { uint64_t start, bytes; } ranges[RANGES_MAX];
static unsigned count;

static void keep(const void *start, size_t bytes) {
    ranges[count].start = (uintptr_t)start & ~(uint64_t)7;
    ranges[count++].bytes = (bytes + 15) & ~(uint64_t)7;
}

static void scan(void *host, gc_thread *thread, gc_visitor *visitor) {
    (void)host;
    if (!thread) return;
    gc_visit(visitor, &reported, 1, 0);
    gc_visit_stack(visitor, &values, NULL);
}

static void finalize(gc_thread *thread, void *object) { (void)thread, (void)object; }
static gc_finalizer finalizer = {finalize, false, NULL};

/* A program's file, as the core's first page of it shows it: it leads to the collector's record. */
static struct __attribute__((packed)) {
    Elf64_Ehdr header;
    Elf64_Phdr parts[2];
    Elf64_Nhdr note;
    char owner[8];
    int64_t distance;
} program;

static void make_program(void) {
    memcpy(program.header.e_ident, ELFMAG, SELFMAG);
    program.header.e_ident[EI_CLASS] = ELFCLASS64;
    program.header.e_ident[EI_DATA] = ELFDATA2LSB;
    program.header.e_type = ET_DYN;
    program.header.e_machine = EM_X86_64;
    program.header.e_phoff = sizeof program.header;
    program.header.e_phentsize = sizeof(Elf64_Phdr);
    program.header.e_phnum = 2;
    program.parts[0].p_type = PT_LOAD;
    program.parts[0].p_filesz = program.parts[0].p_memsz = sizeof program;
    program.parts[1].p_type = PT_NOTE;
    program.parts[1].p_offset = program.parts[1].p_vaddr = offsetof(__typeof__(program), note);
    program.parts[1].p_filesz = program.parts[1].p_memsz = sizeof program - offsetof(__typeof__(program), note);
    program.parts[1].p_align = 4;
    program.note.n_namesz = 5;
    program.note.n_descsz = 8;
    program.note.n_type = 1;
    strcpy(program.owner, "gc.h");
    program.distance = (int64_t)((intptr_t)&gc__dac_vars - ((intptr_t)(&program + 1) - 8));
}

static int order(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Ranges that touch one another become one. */
static void merge_ranges(void) {
    unsigned kept = 0;
    qsort(ranges, count, sizeof *ranges, order);
    for (unsigned i = 1; i < count; i++) {
        uint64_t end = ranges[kept].start + ranges[kept].bytes;
        if (ranges[i].start > end) {
            ranges[++kept] = ranges[i];
        } else if (ranges[i].start + ranges[i].bytes > end) {
            ranges[kept].bytes = ranges[i].start + ranges[i].bytes - ranges[kept].start;
        }
    }
    count = kept + 1;
}

static void write_core(FILE *file) {
    struct __attribute__((packed)) {
        Elf64_Nhdr note;
        char owner[8];
        uint64_t count, unit, start, end, offset;
        char path[8];
    } files = {{5, 48, NT_FILE}, "CORE", 1, 1, (uintptr_t)&program, (uintptr_t)(&program + 1), 0, "/prog"};
    struct __attribute__((packed)) {
        Elf64_Nhdr note;
        char owner[8], head[112];
        uint64_t registers[28];
    } status = {{5, 336, NT_PRSTATUS}, "CORE", "", {0}};
    uint32_t tid = gc__record(gc__my_attachments)->tid;
    memcpy(status.head + 32, &tid, sizeof tid);
    status.registers[16] = (uintptr_t)write_core;
    status.registers[19] = (uintptr_t)__builtin_frame_address(0);
    Elf64_Ehdr header = program.header;
    header.e_type = ET_CORE;
    header.e_phnum = (Elf64_Half)(count + 1);
    fwrite(&header, sizeof header, 1, file);
    uint64_t at = sizeof header + (count + 1) * sizeof(Elf64_Phdr);
    Elf64_Phdr notes = {PT_NOTE, 4, at, 0, 0, sizeof files + sizeof status, 0, 4};
    fwrite(&notes, sizeof notes, 1, file);
    at += notes.p_filesz;
    for (unsigned i = 0; i < count; i++) {
        Elf64_Phdr part = {PT_LOAD, 6, at, ranges[i].start, 0, ranges[i].bytes, ranges[i].bytes, 1};
        fwrite(&part, sizeof part, 1, file);
        at += part.p_filesz;
    }
    fwrite(&files, sizeof files, 1, file);
    fwrite(&status, sizeof status, 1, file);
    for (unsigned i = 0; i < count; i++) fwrite((const void *)(uintptr_t)ranges[i].start, ranges[i].bytes, 1, file);
}

int main(int argc, char **argv) {
    gc_heap *heap = gc_heap_create(&(gc_options){.scan_roots = scan});
    gc_thread *gc = gc_thread_attach(heap);
    if (!gc || argc < 2) return fprintf(stderr, "usage: seed FILE\n"), 1;
    static cell *global;
    static gc_frame frame;
    static cell *local;
    static void *slots[] = {&local};
    cell_type.name = names[0], list_type.name = names[1], cell_type.fields = names[2];
    weak_type.name = names[1];
    values.base = entries, values.top = values.limit = entries + 3;
    gc_roots_add(heap, &global, 1, 0);
    gc_thread_set_name(gc, names[0]);
    for (int i = 0; i < 12; i++) {
        cell *fresh = (cell *)gc_new(gc, &cell_type);
        gc_store(gc, &fresh->next, global);
        global = fresh;
        if (i < 3) entries[i] = fresh;
        if (i == 4) reported = fresh;
        if (i == 5) gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    }
    local = global;
    gc_new_array(gc, &list_type, 5);
    list *weak = (list *)gc_new_array(gc, &weak_type, 2);
    gc_store(gc, &weak->items[0], global);
    gc_new_array(gc, &list_type, GC_LARGE_BYTES / 8 + 100);
    gc_handle_create(heap, GC_HANDLE_STRONG, global);
    gc_handle_create(heap, GC_HANDLE_WEAK, global);
    gc_finalizer_register(gc, global, &finalizer);
    gc_frame made = {NULL, &site, gc, 1, slots};
    frame = made;
    gc->frames = &frame;
    make_program();
    keep(&program, sizeof program);
    keep(&gc__dac_vars, sizeof gc__dac_vars);
    keep(&gc__the_arena, sizeof gc__the_arena);
    keep(&gc__tables, sizeof gc__tables);
    keep(&gc__heaps, sizeof gc__heaps);
    keep(heap, sizeof(gc__instance));
    keep(gc, sizeof(gc__attachment));
    keep(gc__the_arena.regions, gc__the_arena.used * sizeof(gc__region));
    keep(names, sizeof names);
    keep(&cell_type, sizeof cell_type);
    keep(&list_type, sizeof list_type);
    keep(&weak_type, sizeof weak_type);
    keep(gc__weak_traces, sizeof gc__weak_traces);
    keep(&reported, sizeof reported);
    keep(entries, sizeof entries);
    keep(&values, sizeof values);
    keep(heap->cycle->roots.words, heap->cycle->roots.count * 8);
    keep(heap->cycle->reported.words, 16);
    keep(heap->cycle->stacks.words, 8 * GC__STACK_WORDS);
    keep(&site, sizeof site);
    keep(&frame, sizeof frame);
    keep(slots, sizeof slots);
    keep(&local, sizeof local);
    keep(&global, sizeof global);
    keep(heap->collector->globals.words, 24);
    keep(heap->finalizers->registered.words, 16);
    gc__handle_segment *segment = heap->handles->segments;
    keep(segment, offsetof(gc__handle_segment, tags) + 64 * 4);
    keep(segment->places, 64 * 2 * 8);
    for (size_t i = 0; i < gc__the_arena.used; i++) {
        const gc__region *region = &gc__the_arena.regions[i];
        if (!region->heap || region->kind == GC__FREE) continue;
        keep((const void *)region->base, region->kind == GC__LARGE_REST ? 0 : 768);
        if (!region->linear) keep(&gc__region_marks(region)[region->base >> 9], GC_REGION_BYTES / 64);
    }
    merge_ranges();
    FILE *file = fopen(argv[1], "wb");
    if (!file) return perror(argv[1]), 1;
    write_core(file);
    return fclose(file) != 0;
}
