/* dump.c - see dump.h. The assembler has kept the text of each instruction, so nothing is disassembled. */
#include "dump.h"

#include <stdlib.h>
#include <string.h>

/* What gc_code_dump is told of a method. */
typedef struct dump {
    const method *m;
    char *source, **lines; /* of the program; NULL: it cannot be read again */
    uint32_t line_count;
    char *note_texts;
    gc_code_note *notes;
    gc_code_variable *variables;
    gc_dump_options options;
} dump;

static void *zeroed(size_t count, size_t bytes) {
    void *memory = calloc(count + 1, bytes);
    if (!memory) fputs("jit: no memory for a dump\n", stderr), exit(1);
    return memory;
}

static size_t text_of_instruction(void *host, const void *code, uint32_t offset, char *text, size_t room) {
    const method *m = host;
    const asm_instruction *at = asm_find(&m->a, offset);
    (void)code;
    if (!at) return 0;
    asm_text(&m->a, at, text, room);
    uint32_t next = (uint32_t)(at + 1 - m->a.instructions);
    return (next < m->a.instruction_count ? at[1].offset : m->a.bytes) - offset;
}

static void read_source(dump *d, const char *path) {
    FILE *file = fopen(path, "rb");
    size_t room = 1 << 20, bytes = 0;
    if (!file) return;
    d->source = zeroed(room, 1);
    bytes = fread(d->source, 1, room, file);
    fclose(file);
    d->lines = zeroed(bytes + 1, sizeof *d->lines);
    for (char *line = d->source; line < d->source + bytes; d->line_count++) {
        d->lines[d->line_count] = line + strspn(line, " \t");
        line += strcspn(line, "\n");
        *line++ = 0;
    }
}

/* A note before each instruction with which another line begins. */
static void make_notes(dump *d) {
    enum { NOTE_BYTES = 120 };
    const assembler *a = &d->m->a;
    uint32_t count = 0, last = 0;
    d->notes = zeroed(a->instruction_count, sizeof *d->notes);
    d->note_texts = zeroed(a->instruction_count, NOTE_BYTES);
    for (uint32_t i = 0; i < a->instruction_count; i++) {
        uint32_t line = a->instructions[i].line;
        if (line == last || line == 0 || line > d->line_count) continue;
        char *text = d->note_texts + (size_t)NOTE_BYTES * count;
        snprintf(text, NOTE_BYTES, "%u: %s", line, d->lines[line - 1]);
        d->notes[count++] = (gc_code_note){a->instructions[i].offset, text};
        last = line;
    }
    d->options.notes = d->notes;
    d->options.note_count = count;
}

static gc_stackmap_slot slot_of(const method *m, ir_home home) {
    gc_stackmap_slot slot = {GC_PLACE_REGISTER, (uint8_t)home.number, 0, 0, 0};
    if (home.place == HOME_REGISTER) return slot;
    slot.number = 0;
    slot.place = m->ir.is_debug ? GC_PLACE_FRAME : GC_PLACE_SP;
    slot.offset = m->home_offset + 8 * home.number;
    return slot;
}

/* The code in which the home is the value's: between two instructions, and what belongs to these after the epilog. */
static uint32_t start_of(const method *m, const ir_value *v) {
    return v->start < 0 ? 0 : m->ir.offsets[(v->start + 1) / 2];
}

static uint32_t end_of(const method *m, const ir_value *v) {
    uint32_t next = (uint32_t)(v->end / 2) + 1;
    return next < m->ir.count ? m->ir.offsets[next] : m->epilog;
}

static void add_variable(dump *d, const ir_value *v, uint32_t start, uint32_t end) {
    if (start >= end) return;
    d->variables[d->options.variable_count++] =
        (gc_code_variable){v->variable->name, slot_of(d->m, v->home), start, end};
}

static void make_variables(dump *d) {
    const method *m = d->m;
    d->variables = zeroed((size_t)m->ir.value_count * (m->cold_count + 1), sizeof *d->variables);
    d->options.variables = d->variables;
    for (const ir_value *v = m->ir.values; v < m->ir.values + m->ir.value_count; v++) {
        if (!v->variable || !class_is_reference(v->class) || v->home.place == HOME_NONE) continue;
        add_variable(d, v, start_of(m, v), end_of(m, v));
        for (const cold_range *c = m->cold_ranges; c < m->cold_ranges + m->cold_count; c++)
            if (v->start <= 2 * c->instruction && v->end > 2 * c->instruction) add_variable(d, v, c->start, c->end);
    }
}

static void dump_begin(dump *d, const program *p, const method *m) {
    memset(d, 0, sizeof *d);
    d->m = m;
    read_source(d, p->path);
    make_notes(d);
    make_variables(d);
    d->options.code = m->code.start;
    d->options.disassemble = text_of_instruction;
    d->options.host = (void *)(uintptr_t)m;
}

static void dump_end(dump *d) {
    free(d->source);
    free(d->lines);
    free(d->note_texts);
    free(d->notes);
    free(d->variables);
}

static const method *method_named(const program *p, const char *name, size_t bytes) {
    for (const function *f = p->compiled; f; f = f->next_compiled)
        if (strlen(f->full_name) == bytes && memcmp(f->full_name, name, bytes) == 0) return method_of(f);
    return NULL;
}

void dump_program(const program *p, const char *function_name, FILE *to) {
    for (const method *m = code_methods(); m; m = m->next) {
        dump d;
        if (function_name && strcmp(m->source->full_name, function_name) != 0) continue;
        dump_begin(&d, p, m);
        if (m != code_methods() && !function_name) putc('\n', to);
        gc_code_dump(m->code.start, to, &d.options);
        dump_end(&d);
    }
}

bool dump_why(const program *p, const char *question, FILE *to) {
    const char *plus = strchr(question, '+'), *colon = plus ? strchr(plus, ':') : NULL;
    char *end = NULL;
    unsigned long offset = plus ? strtoul(plus + 1, &end, 16) : 0;
    if (!plus || end == plus + 1 || *end != (colon ? ':' : 0)) {
        fprintf(stderr, "jit: --why: expected FUNCTION+OFFSET or FUNCTION+OFFSET:VARIABLE, not %s\n", question);
        return false;
    }
    const method *m = method_named(p, question, (size_t)(plus - question));
    if (!m || offset > m->a.bytes || (offset < m->a.bytes && !asm_find(&m->a, (uint32_t)offset))) {
        fprintf(stderr, "jit: --why: the program has no instruction %.*s: see --dump\n", (int)(end - question),
                question);
        return false;
    }
    dump d;
    dump_begin(&d, p, m);
    bool known = gc_stackmap_explain(m->map, (uint32_t)offset, colon ? colon + 1 : NULL, to, &d.options);
    if (!known)
        fprintf(stderr, "jit: --why: %s has no variable %s that is a reference\n", m->source->full_name, colon + 1);
    dump_end(&d);
    return known;
}

void dump_delegates(const program *p, const method *m, uint32_t offset, FILE *to) {
    dump d;
    dump_begin(&d, p, m);
    for (const ir_value *v = m->ir.values; v < m->ir.values + m->ir.value_count; v++)
        if (v->variable && v->class == CLASS_PINNED && v->home.place != HOME_NONE)
            gc_stackmap_explain(m->map, offset, v->variable->name, to, &d.options);
    dump_end(&d);
}
