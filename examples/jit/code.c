/* code.c - see method.h. Memory for code is one file without a name that is mapped twice, so that no page is writable and
   executable at one address. */
#define _GNU_SOURCE
#include "method.h"
#include "entries.h"

#include "gc_barrier_x86_64.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define AREA_BYTES ((size_t)64 << 20)

static struct {
    char *writable, *executable; /* the same memory */
    size_t used;
    gc_barrier_code barrier; /* at the start of the area */
    uintptr_t entries[ENTRY_COUNT];
    method *methods, **end;
    const program *program;
} area;

static void fail(const char *what) {
    fprintf(stderr, "jit: memory for code: %s\n", what);
    exit(1);
}

static size_t take(size_t bytes) {
    size_t start = (area.used + 15) & ~(size_t)15;
    if (bytes > AREA_BYTES - start) fail("64 MiB are not enough for this program");
    area.used = start + bytes;
    return start;
}

/* A jump to a function of the program's own file, which may be farther away than a call reaches. */
static uintptr_t make_jump(void (*target)(void)) {
    static const char jump[6] = "\xFF\x25\0\0\0\0"; /* jmp [rip] */
    size_t start = take(sizeof jump + sizeof target);
    memcpy(area.writable + start, jump, sizeof jump);
    memcpy(area.writable + start + sizeof jump, &target, sizeof target);
    return (uintptr_t)area.executable + start;
}

void code_begin(void) {
    int file = memfd_create("jit code", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)AREA_BYTES) != 0) fail("the system gives no file in memory");
    area.writable = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    area.executable = mmap(NULL, AREA_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    close(file);
    if (area.writable == MAP_FAILED || area.executable == MAP_FAILED) fail("the system does not let it be executed");
    area.end = &area.methods;
    area.used = GC_EMIT_BYTES_MAX;
    for (int i = 0; i < ENTRY_COUNT; i++) area.entries[i] = make_jump(entries[i].stub);
}

void code_barrier_changed(void *host, const gc_barrier_change *change) {
    (void)host;
    if (change->operation != GC_STOMP_INITIALIZE && change->operation != GC_STOMP_SWITCH)
        gc_barrier_patch(&area.barrier, area.writable, change->tables);
    else if (!gc_barrier_emit(&area.barrier, area.writable, GC_EMIT_BYTES_MAX, change->barrier, GC_EMIT_STORE,
                              change->tables))
        fail("there is no code for this barrier");
}

/* Symbols of functions follow those of the runtime, in the order of program.compiled. */
int symbol_of_function(const function *f) {
    int symbol = SYMBOL_ENTRIES + ENTRY_COUNT;
    for (const function *each = area.program->compiled; each != f; each = each->next_compiled) symbol++;
    return symbol;
}

method *method_of(const function *f) { return f->host; }

static uintptr_t address_of_symbol(int symbol) {
    if (symbol == SYMBOL_STORE) return (uintptr_t)area.executable;
    if (symbol < SYMBOL_ENTRIES + ENTRY_COUNT) return area.entries[symbol - SYMBOL_ENTRIES];
    const function *f = area.program->compiled;
    for (int i = symbol - SYMBOL_ENTRIES - ENTRY_COUNT; i > 0; i--) f = f->next_compiled;
    return (uintptr_t)method_of(f)->code.start;
}

static void compile(function *f, const jit_options *options) {
    method *m = calloc(1, sizeof *m);
    if (!m) fail("there is no memory for a method");
    f->host = m;
    m->source = f;
    m->ir.is_debug = !options->is_release;
    m->ir.has_polls = options->has_polls;
    lower(&m->ir, f, literal_number);
    flow_analyze(&m->ir);
    generate(m);
    size_t start = take(m->a.bytes);
    m->code.start = area.executable + start;
    m->code.bytes = m->a.bytes;
    m->code.map = m->map;
    m->code.name = f->full_name;
    m->code.host = m;
    *area.end = m;
    area.end = &m->next;
}

static void link_method(method *m) {
    char *code = area.writable + ((const char *)m->code.start - area.executable);
    for (uint32_t i = 0; i < m->a.call_count; i++) {
        uintptr_t next = (uintptr_t)m->code.start + m->a.calls[i].at + 4;
        int32_t distance = (int32_t)(address_of_symbol(m->a.calls[i].target) - next);
        memcpy(m->a.code + m->a.calls[i].at, &distance, 4);
    }
    memcpy(code, m->a.code, m->a.bytes);
    if (gc_code_add(&m->code) != GC_OK) fail(gc_last_message());
}

void code_compile(const program *p, const jit_options *options) {
    area.program = p;
    for (function *f = p->compiled; f; f = f->next_compiled) compile(f, options);
    for (method *m = area.methods; m; m = m->next) link_method(m);
}

char *code_writable(const void *pc) { return area.writable + ((const char *)pc - area.executable); }

method *code_methods(void) { return area.methods; }

/* The instruction before the address, in the method; NULL: it has none. */
static const asm_instruction *instruction_before(const method *m, const void *pc) {
    uint32_t offset = (uint32_t)((const char *)pc - (const char *)m->code.start);
    const asm_instruction *found = NULL;
    for (uint32_t i = 0; i < m->a.instruction_count && m->a.instructions[i].offset < offset; i++)
        found = &m->a.instructions[i];
    return found;
}

const method *method_at(const void *pc, int *line) {
    const gc_code *code = gc_code_find((const char *)pc - 1);
    if (!code) return NULL;
    const method *m = code->host;
    const asm_instruction *before = instruction_before(m, pc);
    *line = before ? (int)before->line : m->source->at.line;
    return m;
}

bool is_native_call(const void *pc) {
    const gc_code *code = gc_code_find((const char *)pc - 1);
    const asm_instruction *before = code ? instruction_before(code->host, pc) : NULL;
    return before && before->symbol >= SYMBOL_ENTRIES && before->symbol < SYMBOL_ENTRIES + ENTRY_COUNT;
}

void code_end(void) {
    while (area.methods) {
        method *m = area.methods;
        area.methods = m->next;
        gc_code_remove(&m->code);
        asm_free(&m->a);
        ir_free(&m->ir);
        free(m->map);
        free(m->cold_ranges);
        free(m);
    }
    munmap(area.writable, AREA_BYTES);
    munmap(area.executable, AREA_BYTES);
}
