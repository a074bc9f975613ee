/* Stack maps as text: the header, the pointer table, and both beside the code. */
#pragma once

#include "../api/stackmap_dump.h"
#include "../base/report.h"
#include "../base/text.h"
#include "registry.h"
#include "rows.h"
#include "walk.h"

/* A dump that is being printed. */
struct gc_dump {
    FILE *to;
    const gc_dump_options *options;
    const uint8_t *code;             /* NULL: rows are printed alone */
    uint32_t code_bytes, at;         /* the code before `at` has been printed */
    uint32_t note, boundary;         /* the next ones */
    bool row_is_open, row_is_inside; /* the last row has no line end yet; it is inside of an instruction */
    bool in_table;
    bool is_muted, is_found;
    bool only_one;                  /* all are muted but the row at `wanted` */
    uint32_t wanted, before, after; /* and the rows next to it: 0, and UINT32_MAX, if there are none */
    gc__unwind_state frame;
};

/* rbx, [rsp+16], [rbp-8], [cfa-24] */
GC__FN gc__text gc__slot_place(const gc_stackmap_slot *slot) {
    static const char *const bases[] = {"", "cfa", "rsp", "rbp"};
    gc__text text = {"", 0};
    if (slot->place == GC_PLACE_REGISTER)
        gc__text_add(&text, "%s", gc__register_name(slot->number));
    else
        gc__text_add(&text, "[%s%+d]", bases[slot->place & 3], (int)slot->offset);
    return text;
}

GC__FN bool gc__slot_is_at(const gc_stackmap_slot *slot, const gc_stackmap_slot *place) {
    if (slot->place != place->place) return false;
    return slot->place == GC_PLACE_REGISTER ? slot->number == place->number : slot->offset == place->offset;
}

/* The name of the variable that is in the slot at the offset; NULL: the host has named none. */
GC__FN const char *gc__slot_variable(const gc_dump_options *options, const gc_stackmap_slot *slot, uint32_t offset) {
    for (uint32_t i = 0; i < options->variable_count; i++) {
        const gc_code_variable *variable = &options->variables[i];
        if (gc__slot_is_at(slot, &variable->slot) && variable->start <= offset && offset < variable->end)
            return variable->name;
    }
    return NULL;
}

/* The slot with its variable and its flags: "rbx=list (interior)". */
GC__FN gc__text gc__slot_text(const gc_dump_options *options, const gc_stackmap_slot *slot, uint32_t offset) {
    gc__text text = gc__slot_place(slot);
    const char *name = gc__slot_variable(options, slot, offset);
    if (name) gc__text_add(&text, "=%s", name);
    if (slot->flags & GC_SLOT_INTERIOR) gc__text_add(&text, " (interior)");
    if (slot->flags & GC_SLOT_PINNED) gc__text_add(&text, " (pinned)");
    if (slot->flags & GC_SLOT_VALUE) gc__text_add(&text, " (value)");
    if (slot->untracked) gc__text_add(&text, " (untracked)");
    return text;
}

GC_API void gc_dump_text(gc_dump *dump, const char *format, ...) {
    va_list arguments;
    if (dump->is_muted) return;
    va_start(arguments, format);
    vfprintf(dump->to, format, arguments);
    va_end(arguments);
}

GC_API void gc_dump_fact(gc_dump *dump, const char *name, const char *format, ...) {
    va_list arguments;
    if (dump->options->no_header || dump->is_muted) return;
    fprintf(dump->to, "    %-19s= ", name);
    va_start(arguments, format);
    vfprintf(dump->to, format, arguments);
    va_end(arguments);
    fputc('\n', dump->to);
}

/* The bytes of the instruction at the offset, and its text. Without a disassembler or boundaries it reaches up to `limit`. */
GC__FN uint32_t gc__dump_instruction(const gc_dump *dump, uint32_t offset, uint32_t limit, char *text, size_t room) {
    const gc_dump_options *options = dump->options;
    uint32_t bytes = limit - offset, left = dump->code_bytes - offset;
    *text = 0;
    if (options->disassemble) {
        size_t found = options->disassemble(options->host, dump->code, offset, text, room);
        if (found && found <= left) return (uint32_t)found;
        snprintf(text, room, "(bad)");
        return 1;
    }
    if (options->boundary_count) {
        uint32_t i = dump->boundary;
        while (i < options->boundary_count && options->boundaries[i] <= offset) i++;
        bytes = (i < options->boundary_count ? options->boundaries[i] : dump->code_bytes) - offset;
    }
    return bytes < left ? bytes : left;
}

/* Prints the notes for the instruction at dump->at, between empty lines. */
GC__FN void gc__dump_notes(gc_dump *dump) {
    const gc_dump_options *options = dump->options;
    uint32_t first = dump->note;
    for (; dump->note < options->note_count && options->notes[dump->note].offset <= dump->at; dump->note++)
        fprintf(dump->to, "%s%s\n", dump->note == first ? "\n" : "", options->notes[dump->note].text);
    if (dump->note > first) fputc('\n', dump->to);
}

/* One line: address, bytes, text; what has many bytes and no text takes several lines. */
GC__FN void gc__dump_instruction_line(const gc_dump *dump, uint32_t bytes, const char *text) {
    const gc_dump_options *options = dump->options;
    uint64_t address = (options->address ? options->address : (uintptr_t)dump->code) + dump->at;
    uintptr_t mark = (uintptr_t)options->mark - ((uintptr_t)dump->code + dump->at);
    fprintf(dump->to, "%s%08llx ", options->mark && mark < bytes ? ">>> " : "", (unsigned long long)address);
    for (uint32_t i = 0; i < bytes; i++) {
        if (i && i % 16 == 0) fprintf(dump->to, "\n%08llx ", (unsigned long long)address + i);
        fprintf(dump->to, "%02x", dump->code[dump->at + i]);
    }
    int pad = 21 - (int)(2 * bytes);
    if (*text) fprintf(dump->to, "%*s%s", pad > 1 ? pad : 1, "", text);
    fputc('\n', dump->to);
}

/* Prints the code up to the offset. */
GC__FN void gc__dump_code(gc_dump *dump, uint32_t offset) {
    char text[GC__TEXT_BYTES];
    while (dump->at < offset && dump->at < dump->code_bytes) {
        uint32_t bytes = gc__dump_instruction(dump, dump->at, offset, text, sizeof text);
        if (bytes > offset - dump->at) {
            dump->row_is_inside = true;
            return;
        }
        gc__dump_notes(dump);
        gc__dump_instruction_line(dump, bytes, text);
        dump->at += bytes;
    }
}

GC__FN void gc__dump_end_row(gc_dump *dump) {
    if (dump->row_is_open) fputs(dump->row_is_inside ? " (inside of the next instruction!)\n" : "\n", dump->to);
    dump->row_is_open = dump->row_is_inside = false;
}

GC__FN void gc__dump_begin_table(gc_dump *dump) {
    if (!dump->in_table && !dump->options->no_header)
        fprintf(dump->to, "\n%s:\n", dump->code ? "Code and pointer table" : "Pointer table");
    dump->in_table = true;
}

/* In search of one row: only that one is not muted. */
GC__FN void gc__dump_pass_row(gc_dump *dump, uint32_t offset) {
    dump->is_muted = offset != dump->wanted;
    dump->is_found |= !dump->is_muted;
    if (offset < dump->wanted) dump->before = offset;
    if (offset > dump->wanted && offset < dump->after) dump->after = offset;
}

GC_API void gc_dump_row(gc_dump *dump, uint32_t offset, const char *encoded) {
    if (dump->only_one) {
        gc__dump_pass_row(dump, offset);
        return;
    }
    gc__dump_begin_table(dump);
    gc__dump_end_row(dump);
    dump->row_is_open = true;
    if (dump->code) {
        gc__dump_code(dump, offset);
        fprintf(dump->to, "    GCInfo:      %04X        ", offset);
    } else if (dump->options->no_encoding) {
        fprintf(dump->to, "%04X        ", offset);
    } else {
        fprintf(dump->to, "%-15s| %04X        ", encoded ? encoded : "", offset);
    }
}

GC__FN void gc__dump_slot(gc_dump *dump, const gc_stackmap_slot *slot, uint32_t offset) {
    gc__text text = gc__slot_text(dump->options, slot, offset);
    gc_dump_text(dump, "%s", text.text);
}

/* Slots that are live: "[ rbx, [rsp+16]=list ]". */
GC__FN void gc__dump_live(gc_dump *dump, const gc__stackmap *map, uint32_t offset, gc_frame_kind kind) {
    gc__live_cursor live;
    gc_dump_text(dump, "[");
    if (gc__live_begin(&live, map->bits.start, offset, kind)) {
        for (const char *joint = " "; gc__live_next(&live);) {
            if (live.slots.slot.untracked) continue;
            gc_dump_text(dump, "%s", joint);
            joint = ", ";
            gc__dump_slot(dump, &live.slots.slot, offset);
        }
    }
    gc_dump_text(dump, " ]");
}

GC__FN void gc__dump_unwind(gc_dump *dump, const gc_stackmap_unwind *row) {
    const char *name = row->number == GC_NO_REGISTER ? "" : gc__register_name(row->number);
    const char *space = *name ? " " : "";
    switch (row->op) {
    case GC_UNWIND_PUSH:
        gc_dump_text(dump, "push%s%s", space, name);
        break;
    case GC_UNWIND_POP:
        gc_dump_text(dump, "pop%s%s", space, name);
        break;
    case GC_UNWIND_ALLOCATE:
        gc_dump_text(dump, "rsp%+d", (int)-row->bytes);
        break;
    case GC_UNWIND_SAVE:
        gc_dump_text(dump, "save %s at [rsp%+d]", name, (int)row->bytes);
        break;
    case GC_UNWIND_RESTORE:
        gc_dump_text(dump, "restore %s", name);
        break;
    case GC_UNWIND_FRAME:
        gc_dump_text(dump, "rbp = rsp%+d, the frame pointer", (int)row->bytes);
        break;
    case GC_UNWIND_LEAVE:
        gc_dump_text(dump, "rsp = rbp%+d", (int)-row->bytes);
        break;
    default:
        gc_dump_text(dump, "the frame is that of the body again");
        break;
    }
}

GC__FN gc_stackmap_slot gc__slot_number(const gc__stackmap *map, uint32_t i) {
    gc__slot_cursor cursor = gc__slots_begin(map);
    while (cursor.index <= i && gc__slots_next(&cursor)) continue;
    return cursor.slot;
}

/* What a row of a stack map means. */
GC__FN void gc__dump_meaning(gc_dump *dump, const gc__stackmap *map, const gc__row *row) {
    gc__unwind_state *frame = &dump->frame;
    gc_stackmap_slot slot;
    switch (row->kind) {
    case GC__ROW_CALL:
        gc_dump_text(dump, "call %d ", frame->in_body ? (int)(frame->now.depth - frame->body.depth) / 8 : 0);
        gc__dump_live(dump, map, row->offset, GC_FRAME_CALLER);
        break;
    case GC__ROW_UNWIND:
        gc__dump_unwind(dump, &row->unwind);
        break;
    case GC__ROW_RANGE:
        gc_dump_text(dump, "fully interruptible from here on");
        break;
    case GC__ROW_RANGE_END:
        gc_dump_text(dump, "partially interruptible from here on");
        break;
    case GC__ROW_NONE:
        break;
    case GC__ROW_DEAD:
    case GC__ROW_ENDED:
    case GC__ROW_LIVE:
        slot = gc__slot_number(map, row->slot);
        gc_dump_text(dump, slot.place == GC_PLACE_REGISTER ? "reg " : "");
        gc__dump_slot(dump, &slot, row->kind == GC__ROW_LIVE || !row->offset ? row->offset : row->offset - 1);
        gc_dump_text(dump, row->kind == GC__ROW_LIVE ? " becoming live" : " becoming dead");
    }
}

/* "4B 02": the bits of a row, of which the first is the lowest of the first byte. */
GC__FN gc__text gc__row_encoded(const gc__row *row) {
    gc__text text = {"", 0};
    unsigned bytes = (row->bits.count + 7) / 8;
    for (unsigned i = 0; i < bytes && i < 4; i++) gc__text_add(&text, "%s%02X", i ? " " : "", row->bits.bytes[i]);
    if (bytes > 4) gc__text_add(&text, " ..");
    return text;
}

GC__FN void gc__dump_table(gc_dump *dump, const void *start) {
    gc__rows rows = gc__rows_begin(start);
    gc__row row;
    gc__slot_cursor slots = gc__slots_begin(&rows.map);
    dump->frame = gc__unwind_start(rows.map.facts.prolog_bytes, rows.map.facts.flags);
    while (rows.map.facts.untracked_count && gc__slots_next(&slots)) {
        if (!slots.slot.untracked) continue;
        gc_dump_row(dump, 0, "");
        gc__dump_slot(dump, &slots.slot, 0);
    }
    while (gc__rows_next(&rows, &row)) {
        if (row.kind != GC__ROW_UNWIND || !dump->options->no_unwinding) {
            gc__text encoded = gc__row_encoded(&row);
            gc_dump_row(dump, row.offset, encoded.text);
            gc__dump_meaning(dump, &rows.map, &row);
        }
        if (row.kind == GC__ROW_UNWIND) gc__unwind_step(&dump->frame, &row.unwind);
    }
}

/* What the unwind rows say of the frame as a whole. */
typedef struct gc__frame_facts {
    gc__unwind_state state;
    uint32_t saved; /* bit i: register i is */
    uint32_t epilog_count, epilog_at;
    bool in_epilog; /* at the end of the code */
} gc__frame_facts;

GC__FN gc__frame_facts gc__frame_facts_of(const gc__stackmap *map) {
    gc__frame_facts facts;
    gc__unwind_cursor rows = gc__unwind_begin(map);
    memset(&facts, 0, sizeof facts);
    facts.state = gc__unwind_start(map->facts.prolog_bytes, map->facts.flags);
    while (gc__unwind_next(&rows)) {
        gc__unwind_step(&facts.state, &rows.row);
        for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
            facts.saved |= (uint32_t)(facts.state.now.layout.saved[i] != 0) << i;
        bool leaves = rows.row.op == GC_UNWIND_LEAVE || rows.row.op == GC_UNWIND_RESTORE ||
                      facts.state.now.depth < facts.state.body.depth;
        if (facts.state.in_body && leaves && !facts.in_epilog) {
            facts.in_epilog = true;
            facts.epilog_count++;
            if (!facts.epilog_at) facts.epilog_at = rows.row.offset;
        }
        if (rows.row.op == GC_UNWIND_BODY) facts.in_epilog = false;
    }
    if (!facts.state.in_body) facts.state.body = facts.state.now;
    return facts;
}

/* The start of the first epilog, of which only the end of its first instruction is known; exact with a disassembler. */
GC__FN void gc__dump_epilog(gc_dump *dump, uint32_t behind) {
    char text[GC__TEXT_BYTES];
    uint32_t at = 0, bytes = 0;
    bool exact = dump->code && (dump->options->disassemble || dump->options->boundary_count);
    while (exact && at + bytes < behind) {
        at += bytes;
        bytes = gc__dump_instruction(dump, at, dump->code_bytes, text, sizeof text);
    }
    gc_dump_fact(dump, "epilog        at", exact ? "%04X" : "before %04X", exact ? at : behind);
}

GC__FN const char *gc__yes_or_no(bool yes) { return yes ? "yes" : "no"; }

/* The offset from the CFA of one of the five special slots. */
GC__FN void gc__dump_special(gc_dump *dump, const char *name, const gc_stackmap_facts *facts, unsigned i) {
    if (facts->flags & GC_METHOD_SECURITY_OBJECT << i)
        gc_dump_fact(dump, name, "[cfa%+d]", (int)facts->extra[i]);
    else
        gc_dump_fact(dump, name, "no");
}

GC__FN void gc__dump_header(gc_dump *dump, const gc__stackmap *map) {
    static const char *const kinds[] = {"scalar", "object", "interior", "value"};
    const gc_stackmap_facts *facts = &map->facts;
    gc__frame_facts frame = gc__frame_facts_of(map);
    uint32_t start = facts->range_count ? gc__ascending_at(&map->ranges, &map->bits, 0) : 0;
    uint32_t end = facts->range_count ? gc__ascending_at(&map->ranges, &map->bits, facts->range_count * 2 - 1) : 0;
    gc__text saved = {"", 0};
    for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
        if (frame.saved >> i & 1) gc__text_add(&saved, "%s%s", saved.length ? " " : "", gc__register_name(i));
    gc_dump_fact(dump, "method      size", "%04X", facts->code_bytes);
    gc_dump_fact(dump, "prolog      size", "%3u", facts->prolog_bytes);
    gc_dump_fact(dump, "epilog     count", "%3u", frame.epilog_count);
    gc_dump_fact(dump, "epilog      end", "%s", gc__yes_or_no(frame.in_epilog));
    gc_dump_fact(dump, "saved registers", "%s", saved.length ? saved.text : "none");
    gc_dump_fact(dump, "rbp frame", "%s", gc__yes_or_no(frame.state.frame_cfa != 0));
    if (facts->range_count)
        gc_dump_fact(dump, "fully interruptible", "yes, %04X to %04X%s", start, end,
                     facts->range_count > 1 ? ", in parts" : "");
    else
        gc_dump_fact(dump, "fully interruptible", "no");
    gc__dump_special(dump, "security object", facts, 0);
    gc__dump_special(dump, "stack guard", facts, 1);
    gc__dump_special(dump, "previous frame", facts, 2);
    gc__dump_special(dump, "generics context", facts, 3);
    gc__dump_special(dump, "reverse call", facts, 4);
    gc_dump_fact(dump, "exception handlers", "%s", gc__yes_or_no(facts->flags & GC_METHOD_HANDLERS));
    gc_dump_fact(dump, "local alloc", "%s", gc__yes_or_no(facts->flags & GC_METHOD_DYNAMIC_STACK));
    if (facts->flags & GC_METHOD_EDIT_AND_CONTINUE)
        gc_dump_fact(dump, "edit & continue", "yes, %d bytes", (int)facts->extra[5]);
    else
        gc_dump_fact(dump, "edit & continue", "no");
    gc_dump_fact(dump, "varargs", "%s", gc__yes_or_no(facts->flags & GC_METHOD_VARARGS));
    gc_dump_fact(dump, "innermost only", "%s", gc__yes_or_no(facts->flags & GC_METHOD_REPORT_LEAF_ONLY));
    gc_dump_fact(dump, "argument   count", "%3u", facts->argument_bytes / 8);
    gc_dump_fact(dump, "outgoing   count", "%3u", facts->outgoing_bytes / 8);
    gc_dump_fact(dump, "stack frame size", "%3d", (int)frame.state.body.depth / 8 - 1);
    gc_dump_fact(dump, "return      kind", "%s%s%s", kinds[facts->returns[0] & 3], facts->returns[1] ? ", " : "",
                 facts->returns[1] ? kinds[facts->returns[1] & 3] : "");
    gc_dump_fact(dump, "slot       count", "%3u", facts->slot_count);
    gc_dump_fact(dump, "untracked  count", "%3u", facts->untracked_count);
    if (frame.epilog_count) gc__dump_epilog(dump, frame.epilog_at);
}

GC__FN gc_dump_options gc__dump_options(const gc_dump_options *options) {
    gc_dump_options none;
    memset(&none, 0, sizeof none);
    return options ? *options : none;
}

GC__FN gc_dump gc__dump_of(const gc_dump_options *options, const void *code, size_t code_bytes, FILE *to) {
    gc_dump dump;
    memset(&dump, 0, sizeof dump);
    dump.to = to;
    dump.options = options;
    dump.code = (const uint8_t *)code;
    dump.code_bytes = code_bytes < UINT32_MAX ? (uint32_t)code_bytes : UINT32_MAX;
    return dump;
}

/* What `!u` begins with. */
GC__FN void gc__dump_begin(gc_dump *dump, const char *name) {
    const gc_dump_options *options = dump->options;
    uintptr_t start = (uintptr_t)dump->code, shown = options->address ? (uintptr_t)options->address : start;
    if (options->no_header) return;
    if (options->mark && (uintptr_t)options->mark - start < dump->code_bytes)
        fprintf(dump->to, "Will print '>>> ' at address: %08llx\n",
                (unsigned long long)(shown + ((uintptr_t)options->mark - start)));
    if (name) fprintf(dump->to, "%s\n", name);
    if (dump->code) fprintf(dump->to, "Begin %08llx, size %x\n", (unsigned long long)shown, dump->code_bytes);
}

GC__FN void gc__dump_end(gc_dump *dump) {
    gc__dump_begin_table(dump);
    gc__dump_end_row(dump);
    if (dump->code) gc__dump_code(dump, dump->code_bytes);
}

/* The bytes in which the header is, the last of which it may share with the table. */
GC__FN void gc__dump_header_bytes(gc_dump *dump, const gc__stackmap *map) {
    if (dump->options->no_header || dump->options->no_encoding) return;
    for (uint64_t i = 0; i < (map->header_end + 7) / 8; i++) fprintf(dump->to, "%02X ", map->bits.start[i]);
    fputs("   |\n", dump->to);
}

GC__FN void gc__dump_map(gc_dump *dump, const void *start) {
    gc__stackmap map;
    gc__stackmap_open(&map, start, UINT64_MAX);
    if (!dump->options->no_header) fputs("Method info block:\n", dump->to);
    gc__dump_header(dump, &map);
    gc__dump_header_bytes(dump, &map);
    gc__dump_table(dump, start);
}

GC_API void gc_stackmap_dump(const void *map, FILE *to, const gc_dump_options *options) {
    if (gc__is_null(map, "gc_stackmap_dump", "map") || gc__is_null(to, "gc_stackmap_dump", "to")) return;
    gc_dump_options all = gc__dump_options(options);
    gc_dump dump = gc__dump_of(&all, all.code, gc_stackmap_read(map).code_bytes, to);
    gc__dump_begin(&dump, NULL);
    gc__dump_map(&dump, map);
    gc__dump_end(&dump);
}

/* The code with the address, which may also be the one behind its last instruction: a return address, if that is a call. */
GC__FN const gc_code *gc__code_with(const void *pc) {
    const gc_code *code = gc_code_find(pc);
    return code ? code : gc_code_find((const void *)((uintptr_t)pc - 1));
}

GC_API bool gc_code_dump(const void *pc, FILE *to, const gc_dump_options *options) {
    const gc_code *code = gc__code_with(pc);
    if (!code || gc__is_null(to, "gc_code_dump", "to")) return false;
    gc_dump_options marked = gc__dump_options(options);
    marked.mark = pc == code->start ? NULL : pc;
    gc_dump dump = gc__dump_of(&marked, code->start, code->bytes, to);
    gc__dump_begin(&dump, code->name);
    if (!code->format) {
        gc__dump_map(&dump, code->map);
    } else if (code->format->dump) {
        gc_dump_fact(&dump, "tables", "%s", code->format->name);
        code->format->dump(code, &dump);
    } else {
        gc_dump_fact(&dump, "tables", "%s, which have no dump", code->format->name);
    }
    gc__dump_end(&dump);
    return true;
}
