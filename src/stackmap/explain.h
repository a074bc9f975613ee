/* Where a variable is live, and why it is not elsewhere, in sentences. */
#pragma once

#include "../api/stackmap_dump.h"
#include "decode.h"
#include "dump.h"
#include "registry.h"

/* What is to be explained, and to whom. */
typedef struct gc__question {
    gc__stackmap map;
    uint32_t offset;
    FILE *to;
    gc_dump_options options;
    bool is_stop;       /* a thread may be stopped at the offset */
    gc_frame_kind kind; /* then: how */
} gc__question;

#define GC__OFFSET "+0x%02x"

GC__FN gc__question gc__question_at(const gc__question *question, uint32_t offset) {
    gc__live_set set;
    gc__question at = *question;
    at.offset = offset;
    at.kind = gc_stackmap_is_interruptible(at.map.bits.start, offset) ? GC_FRAME_INTERRUPTED : GC_FRAME_CALLER;
    at.is_stop = gc__stackmap_find(&at.map, offset, at.kind, &set);
    return at;
}

GC__FN bool gc__slot_is_live(const gc__stackmap *map, uint32_t slot, uint32_t offset, gc_frame_kind kind) {
    gc__live_set set;
    return gc__stackmap_find(map, offset, kind, &set) && gc__live_word(map, &set, slot / 64) >> (slot & 63) & 1;
}

GC__FN bool gc__is_scratch(const gc_stackmap_slot *slot) {
    return slot->place == GC_PLACE_REGISTER && !(GC__PRESERVED_REGISTERS >> slot->number & 1);
}

/* The safe points next to the offset: the last one before it, and the first one behind it; 0: there is none. */
GC__FN void gc__question_neighbours(const gc__question *question, uint32_t *before, uint32_t *behind) {
    const gc__stackmap *map = &question->map;
    bool is_point;
    uint32_t i = gc__ascending_below(&map->points, &map->bits, question->offset, &is_point);
    *before = i ? gc__ascending_at(&map->points, &map->bits, i - 1) : 0;
    i += is_point;
    *behind = i < map->facts.point_count ? gc__ascending_at(&map->points, &map->bits, i) : 0;
}

/* Why no collection sees the frame at the offset. */
GC__FN void gc__explain_no_stop(const gc__question *question) {
    uint32_t offset = question->offset, before, behind;
    FILE *to = question->to;
    gc__question_neighbours(question, &before, &behind);
    fprintf(to,
            "No thread is stopped at " GC__OFFSET
            ": the code there is partially interruptible, where only calls are safe points",
            offset);
    if (offset < question->map.facts.prolog_bytes) fputs(", and it is in the prolog", to);
    fputs(". ", to);
    if (before) fprintf(to, "The last call before it returns to " GC__OFFSET "%s", before, behind ? ", " : ".\n");
    if (behind)
        fprintf(to, "%she next one %sto " GC__OFFSET ".\n", before ? "t" : "T", before ? "" : "returns ", behind);
    if (!before && !behind) fputs("The method has no call that is one.\n", to);
}

/* The next offset in that direction at which a thread may be stopped as at the question's; false: there is none. */
GC__FN bool gc__question_step(const gc__question *question, uint32_t *offset, bool forward) {
    gc__question at = *question;
    uint32_t before, behind;
    if (question->kind == GC_FRAME_INTERRUPTED) {
        *offset += forward ? 1u : ~0u;
        return gc_stackmap_is_interruptible(question->map.bits.start, *offset);
    }
    at.offset = *offset;
    gc__question_neighbours(&at, &before, &behind);
    *offset = forward ? behind : before;
    return *offset != 0;
}

/* How far in one direction a slot stays live, or dead, as it is at the offset. */
typedef struct gc__reach {
    uint32_t last, beyond; /* the last offset at which it is so, and the first one at which it is otherwise */
    bool changes;          /* there is such a one */
} gc__reach;

GC__FN gc__reach gc__slot_reach(const gc__question *question, uint32_t slot, bool is_live, bool forward) {
    gc__reach reach = {question->offset, question->offset, false};
    while (gc__question_step(question, &reach.beyond, forward)) {
        if (gc__slot_is_live(&question->map, slot, reach.beyond, question->kind) != is_live) {
            reach.changes = true;
            break;
        }
        reach.last = reach.beyond;
    }
    return reach;
}

/* Completes "`t` is in rdi", which is live. */
GC__FN void gc__explain_live(const gc__question *question, uint32_t slot_index, const gc_stackmap_slot *slot) {
    FILE *to = question->to;
    if (slot->untracked) {
        fputs(", which is untracked: live wherever a thread is stopped in the method.\n", to);
        return;
    }
    uint32_t first = gc__slot_reach(question, slot_index, true, false).last;
    uint32_t last = gc__slot_reach(question, slot_index, true, true).last;
    if (question->kind == GC_FRAME_INTERRUPTED) {
        fprintf(to, ", live from " GC__OFFSET " to " GC__OFFSET "%s.", first, last + 1,
                last + 1 == question->map.facts.code_bytes ? ", the end of the code" : "");
        if (gc__is_scratch(slot))
            fputs(" Only the innermost frame has it, since a call does not preserve the register.", to);
        fputc('\n', to);
    } else if (first == last) {
        fprintf(to, ", live across the call that returns to " GC__OFFSET ".\n", first);
    } else {
        fprintf(to,
                ", live across the calls from the one that returns to " GC__OFFSET
                " to the one that returns to " GC__OFFSET ".\n",
                first, last);
    }
}

/* Completes "`t` is not live at +0x30: ", where its slot is dead. */
GC__FN void gc__explain_dead(const gc__question *question, uint32_t slot_index, const gc_stackmap_slot *slot) {
    FILE *to = question->to;
    gc__text place = gc__slot_place(slot);
    bool is_call = question->kind == GC_FRAME_CALLER;
    if (is_call && gc__is_scratch(slot)) {
        fprintf(
            to,
            "a call does not preserve %s. What must outlive a call belongs in rbx, rbp, r12 to r15, or on the stack.\n",
            place.text);
        return;
    }
    gc__reach before = gc__slot_reach(question, slot_index, false, false),
              after = gc__slot_reach(question, slot_index, false, true);
    fprintf(to, "its slot %s ", place.text);
    if (!before.changes && !after.changes)
        fputs(is_call ? "is live across no call" : "is live nowhere in this interruptible code", to);
    else if (!before.changes)
        fprintf(to,
                is_call ? "is not live before the call that returns to " GC__OFFSET
                        : "becomes live at " GC__OFFSET " only",
                after.beyond);
    else if (is_call)
        fprintf(to, "was live for the last time across the call that returns to " GC__OFFSET, before.beyond);
    else
        fprintf(to, "died at " GC__OFFSET, before.last);
    if (before.changes) fputs(", and the compiler saw no use of the value after that", to);
    if (before.changes && after.changes)
        fprintf(to, "; it is live again %s " GC__OFFSET, is_call ? "across the call that returns to" : "from",
                after.beyond);
    fputs(".\n", to);
    if (!is_call && gc__slot_is_live(&question->map, slot_index, question->offset, GC_FRAME_CALLER))
        fprintf(to, "While a call that returns to " GC__OFFSET " runs, it is still live.\n", question->offset);
}

/* Where the debug information has the variable, if not at the offset. */
GC__FN void gc__explain_elsewhere(const gc__question *question, const char *name) {
    const gc_dump_options *options = &question->options;
    bool earlier = false, later = false;
    for (uint32_t i = 0; i < options->variable_count; i++) {
        if (strcmp(options->variables[i].name, name) != 0) continue;
        earlier |= options->variables[i].start <= question->offset;
        later |= options->variables[i].start > question->offset;
    }
    fprintf(question->to, "`%s` is not live at " GC__OFFSET ": %s. The variable is", name, question->offset,
            earlier && later ? "it is in no slot there"
            : earlier        ? "its life has ended"
                             : "its life has not begun");
    const char *joint = " ";
    for (uint32_t i = 0; i < options->variable_count; i++) {
        const gc_code_variable *variable = &options->variables[i];
        if (strcmp(variable->name, name) != 0) continue;
        gc__text place = gc__slot_place(&variable->slot);
        fprintf(question->to, "%sin %s from " GC__OFFSET " to " GC__OFFSET, joint, place.text, variable->start,
                variable->end);
        joint = ", and ";
    }
    fputs(".\n", question->to);
}

/* One place of a variable at an offset at which a thread may be stopped. Returns whether it is live there. */
GC__FN bool gc__explain_variable(const gc__question *question, const gc_code_variable *variable) {
    gc__slot_cursor slots = gc__slots_begin(&question->map);
    uint32_t found = UINT32_MAX;
    gc_stackmap_slot slot = variable->slot;
    FILE *to = question->to;
    while (gc__slots_next(&slots)) {
        if (!gc__slot_is_at(&slots.slot, &variable->slot)) continue;
        if (found != UINT32_MAX && !gc__slot_is_live(&question->map, slots.index - 1, question->offset, question->kind))
            continue;
        found = slots.index - 1;
        slot = slots.slot;
    }
    gc__text place = gc__slot_place(&slot);
    if (found != UINT32_MAX && gc__slot_is_live(&question->map, found, question->offset, question->kind)) {
        fprintf(to, "At " GC__OFFSET " `%s` is in %s", question->offset, variable->name, place.text);
        gc__explain_live(question, found, &slot);
        return true;
    }
    fprintf(to, "`%s` is not live at " GC__OFFSET ": ", variable->name, question->offset);
    if (found == UINT32_MAX)
        fprintf(to, "it is in %s, of which the map has no slot: the compiler holds it for no reference.\n", place.text);
    else
        gc__explain_dead(question, found, &slot);
    return false;
}

/* All places of the variable, or with NULL of all variables. Returns whether one is not live. */
GC__FN bool gc__explain_variables(const gc__question *question, const char *name) {
    const gc_dump_options *options = &question->options;
    bool is_there = false, is_dead = false;
    for (uint32_t i = 0; i < options->variable_count; i++) {
        const gc_code_variable *variable = &options->variables[i];
        if (variable->start > question->offset || question->offset >= variable->end) continue;
        if (name && strcmp(variable->name, name) != 0) continue;
        is_there = true;
        is_dead |= !gc__explain_variable(question, variable);
    }
    if (name && !is_there) gc__explain_elsewhere(question, name);
    return is_dead || (name && !is_there);
}

/* "Live there: rbx=list, [rsp+16]." */
GC__FN void gc__explain_all(const gc__question *question) {
    gc__live_cursor live;
    unsigned count = 0;
    if (!gc__live_begin(&live, question->map.bits.start, question->offset, question->kind)) return;
    while (gc__live_next(&live)) {
        gc__text text = gc__slot_text(&question->options, &live.slots.slot, question->offset);
        fprintf(question->to, "%s%s", count++ ? ", " : "Live there: ", text.text);
    }
    fputs(count ? ".\n" : "Nothing is live there.\n", question->to);
}

/* What may happen at the offset. */
GC__FN void gc__explain_offset(const gc__question *question) {
    uint32_t offset = question->offset;
    if (!question->is_stop)
        gc__explain_no_stop(question);
    else if (question->kind == GC_FRAME_INTERRUPTED)
        fprintf(question->to,
                "At " GC__OFFSET " the code is fully interruptible: a thread may be stopped before each instruction.\n",
                offset);
    else
        fprintf(question->to,
                "At " GC__OFFSET
                " the code is partially interruptible: only calls are safe points, and one returns to here.\n",
                offset);
    if (question->map.facts.flags & GC_METHOD_REPORT_LEAF_ONLY)
        fputs("The method reports nothing unless it is the innermost one.\n", question->to);
}

/* Whether the options have the variable; if not, it says which they have. */
GC__FN bool gc__explain_name(const gc__question *question, const char *name) {
    const gc_dump_options *options = &question->options;
    for (uint32_t i = 0; i < options->variable_count; i++)
        if (strcmp(options->variables[i].name, name) == 0) return true;
    fprintf(question->to, "No variable is called `%s`", name);
    for (uint32_t i = 0, count = 0; i < options->variable_count; i++) {
        uint32_t same = 0;
        while (strcmp(options->variables[same].name, options->variables[i].name) != 0) same++;
        if (same == i) fprintf(question->to, "%s`%s`", count++ ? ", " : "; there are ", options->variables[i].name);
    }
    fputs(".\n", question->to);
    return false;
}

GC_API bool gc_stackmap_explain(const void *map, uint32_t offset, const char *variable, FILE *to,
                                const gc_dump_options *options) {
    gc__question question;
    uint32_t before, behind;
    if (gc__is_null(map, "gc_stackmap_explain", "map") || gc__is_null(to, "gc_stackmap_explain", "to")) return false;
    memset(&question, 0, sizeof question);
    gc__stackmap_open(&question.map, map, UINT64_MAX);
    question.to = to;
    question.options = gc__dump_options(options);
    question = gc__question_at(&question, offset);
    if (variable && !gc__explain_name(&question, variable)) return false;
    if (offset > question.map.facts.code_bytes) {
        fprintf(to, GC__OFFSET " is outside of the method, which has 0x%x bytes of code.\n", offset,
                question.map.facts.code_bytes);
        return true;
    }
    gc__explain_offset(&question);
    if (!question.is_stop) {
        gc__question_neighbours(&question, &before, &behind);
        if (!before && !behind) return true;
        question = gc__question_at(&question, behind ? behind : before);
    }
    if (!variable) gc__explain_all(&question);
    if (gc__explain_variables(&question, variable) && variable)
        fprintf(to, "A later use of `%s` extends its life: what gc_keep_alive is in C.\n", variable);
    return true;
}

/* What the tables of another format have at the offset: the dump of one row. */
GC__FN void gc__explain_row(const gc_code *code, uint32_t offset, FILE *to, const gc_dump_options *options) {
    gc_dump dump = gc__dump_of(options, NULL, code->bytes, to);
    dump.only_one = dump.is_muted = true;
    dump.wanted = offset;
    dump.after = UINT32_MAX;
    fprintf(to, "The tables of %s have at " GC__OFFSET ": ", code->format->name, offset);
    code->format->dump(code, &dump);
    if (!dump.is_found) fputs("nothing", to);
    if (dump.before) fprintf(to, "; the row before it is at " GC__OFFSET, dump.before);
    if (dump.after != UINT32_MAX) fprintf(to, "; the row after it is at " GC__OFFSET, dump.after);
    fputs(".\n", to);
}

GC_API bool gc_code_explain(const void *pc, const char *variable, FILE *to, const gc_dump_options *options) {
    const gc_code *code = gc_code_find(pc);
    gc_dump_options all = gc__dump_options(options);
    if (!code || gc__is_null(to, "gc_code_explain", "to")) return false;
    uint32_t offset = (uint32_t)((uintptr_t)pc - (uintptr_t)code->start);
    fprintf(to, "In %s:\n", gc__code_name(code));
    if (!code->format) return gc_stackmap_explain(code->map, offset, variable, to, options);
    if (code->format->dump)
        gc__explain_row(code, offset, to, &all);
    else
        fprintf(to, "The tables of %s cannot be printed.\n", code->format->name);
    return true;
}
