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

/* What becomes of a variable. */
typedef enum gc__life { GC__LIFE_LIVE, GC__LIFE_NOT_BEGUN, GC__LIFE_ENDED, GC__LIFE_UNKNOWN } gc__life;

/* Completes "`t` is in rdi at +0x30". */
GC__FN void gc__explain_live(const gc__question *question, uint32_t number, const gc_stackmap_slot *slot) {
    FILE *to = question->to;
    if (slot->untracked) {
        fputs(", untracked: live wherever a thread is stopped in the method.\n", to);
        return;
    }
    uint32_t first = gc__slot_reach(question, number, true, false).last;
    uint32_t last = gc__slot_reach(question, number, true, true).last;
    if (question->kind == GC_FRAME_INTERRUPTED) {
        bool at_end = last + 1 == question->map.facts.code_bytes;
        fprintf(to, ", live from " GC__OFFSET " to " GC__OFFSET "%s.", first, last + 1,
                at_end ? ", the end of the code" : "");
        if (gc__is_scratch(slot))
            fputs(" Only the innermost frame has it, since a call does not preserve the register.", to);
        fputc('\n', to);
    } else if (first == last) {
        fputs(", live across the call that returns there.\n", to);
    } else {
        fprintf(to,
                ", live across all calls from that which returns to " GC__OFFSET " to that which returns to " GC__OFFSET
                ".\n",
                first, last);
    }
}

/* Says why a slot is dead: when it was live for the last time, or will be for the first time. */
GC__FN gc__life gc__explain_dead(const gc__question *question, uint32_t number, const char *place) {
    FILE *to = question->to;
    gc__reach before = gc__slot_reach(question, number, false, false),
              after = gc__slot_reach(question, number, false, true);
    if (question->kind == GC_FRAME_CALLER) {
        if (before.changes)
            fprintf(to, "the last call across which %s was live returns to " GC__OFFSET, place, before.beyond);
        else if (after.changes)
            fprintf(to, "the first call across which %s is live returns to " GC__OFFSET, place, after.beyond);
        else
            fprintf(to, "%s is live across no call", place);
    } else if (before.changes) {
        fprintf(to, "%s died at " GC__OFFSET, place, before.last);
    } else if (after.changes) {
        fprintf(to, "%s becomes live at " GC__OFFSET, place, after.beyond);
    } else {
        fprintf(to, "%s is live nowhere in this interruptible code", place);
    }
    if (before.changes) fputs(", and the compiler saw no later use", to);
    return before.changes || !after.changes ? GC__LIFE_ENDED : GC__LIFE_NOT_BEGUN;
}

/* The number of the map's slot at that place, preferably of a live one: different flags make different slots. UINT32_MAX:
   it has none. */
GC__FN uint32_t gc__question_slot(const gc__question *question, gc_stackmap_slot *place) {
    gc__slot_cursor slots = gc__slots_begin(&question->map);
    gc_stackmap_slot wanted = *place;
    uint32_t found = UINT32_MAX;
    while (gc__slots_next(&slots)) {
        if (!gc__slot_is_at(&slots.slot, &wanted)) continue;
        bool is_live = gc__slot_is_live(&question->map, slots.index - 1, question->offset, question->kind);
        if (found != UINT32_MAX && !is_live) continue;
        found = slots.index - 1;
        *place = slots.slot;
        if (is_live) break;
    }
    return found;
}

/* A caller's frame may keep at the offset what an interrupted one does not, and the reverse: what counts for it is the call
   that returns there. */
GC__FN void gc__explain_call(const gc__question *question, uint32_t number, const gc_stackmap_slot *slot,
                             bool is_live) {
    gc__live_set set;
    if (question->kind == GC_FRAME_CALLER || gc__is_scratch(slot)) return;
    if (!gc__stackmap_find(&question->map, question->offset, GC_FRAME_CALLER, &set)) return;
    if (gc__slot_is_live(&question->map, number, question->offset, GC_FRAME_CALLER) == is_live) return;
    fprintf(question->to, "A call that returns there %s.\n", is_live ? "does not keep it" : "still keeps it");
}

/* A place that the variable has at the offset. */
GC__FN gc__life gc__explain_place(const gc__question *question, const gc_code_variable *variable) {
    FILE *to = question->to;
    gc_stackmap_slot slot = variable->slot;
    uint32_t number = gc__question_slot(question, &slot);
    gc__text place = gc__slot_place(&slot);
    gc__life life = GC__LIFE_UNKNOWN;
    if (number != UINT32_MAX && gc__slot_is_live(&question->map, number, question->offset, question->kind)) {
        fprintf(to, "`%s` is in %s at " GC__OFFSET, variable->name, place.text, question->offset);
        gc__explain_live(question, number, &slot);
        gc__explain_call(question, number, &slot, true);
        return GC__LIFE_LIVE;
    }
    fprintf(to, "`%s` is not live at " GC__OFFSET ": ", variable->name, question->offset);
    if (number == UINT32_MAX)
        fprintf(to,
                "it is in %s, which the map never has live: it holds no reference, or none that any safe point needs",
                place.text);
    else if (question->kind == GC_FRAME_CALLER && gc__is_scratch(&slot))
        fprintf(to, "it is in %s, which a call does not preserve; rbx, rbp, r12 to r15 and the stack outlive calls",
                place.text);
    else
        life = gc__explain_dead(question, number, place.text);
    fputs(".\n", to);
    if (number != UINT32_MAX) gc__explain_call(question, number, &slot, false);
    return life;
}

/* A variable that has no place at the offset: when it had its last one before, or has its first one after. */
GC__FN gc__life gc__explain_elsewhere(const gc__question *question, const char *name) {
    const gc_dump_options *options = &question->options;
    const gc_code_variable *last = NULL, *first = NULL;
    FILE *to = question->to;
    for (uint32_t i = 0; i < options->variable_count; i++) {
        const gc_code_variable *variable = &options->variables[i];
        if (strcmp(variable->name, name) != 0) continue;
        if (variable->start > question->offset) {
            if (!first || variable->start < first->start) first = variable;
        } else if (!last || variable->end > last->end) {
            last = variable;
        }
    }
    gc_stackmap_slot slot = last ? last->slot : first->slot;
    gc__text place = gc__slot_place(&slot);
    fprintf(to, "`%s` is not live at " GC__OFFSET ": ", name, question->offset);
    if (!last) {
        fprintf(to, "it is first in %s from " GC__OFFSET " on.\n", place.text, first->start);
        return GC__LIFE_NOT_BEGUN;
    }
    fprintf(to, "it was in %s until " GC__OFFSET, place.text, last->end);
    if (first) {
        gc__text again = gc__slot_place(&first->slot);
        fprintf(to, ", and from " GC__OFFSET " on it is in %s.\n", first->start, again.text);
        return GC__LIFE_UNKNOWN;
    }
    uint32_t number = gc__question_slot(question, &slot);
    bool is_dead = number != UINT32_MAX && !gc__is_scratch(&slot) &&
                   !gc__slot_is_live(&question->map, number, question->offset, question->kind);
    fputs(is_dead ? "; " : ", and the compiler saw no later use", to);
    if (is_dead) gc__explain_dead(question, number, place.text);
    fputs(".\n", to);
    return GC__LIFE_ENDED;
}

/* The variable's places at the offset. */
GC__FN gc__life gc__explain_variable(const gc__question *question, const char *name) {
    const gc_dump_options *options = &question->options;
    gc__life life = GC__LIFE_UNKNOWN;
    bool is_there = false;
    for (uint32_t i = 0; i < options->variable_count; i++) {
        const gc_code_variable *variable = &options->variables[i];
        bool covers = variable->start <= question->offset && question->offset < variable->end;
        if (!covers || strcmp(variable->name, name) != 0) continue;
        gc__life there = gc__explain_place(question, variable);
        if (!is_there || there == GC__LIFE_LIVE) life = there;
        is_there = true;
    }
    return is_there ? life : gc__explain_elsewhere(question, name);
}

/* "Live at +0x30: rbx=list, [rsp+16]." And what is not, of the variables that have a place there. */
GC__FN void gc__explain_all(const gc__question *question) {
    const gc_dump_options *options = &question->options;
    gc__live_cursor live;
    const char *joint = "";
    fprintf(question->to, "Live at " GC__OFFSET ": ", question->offset);
    if (gc__live_begin(&live, question->map.bits.start, question->offset, question->kind)) {
        for (; gc__live_next(&live); joint = ", ") {
            gc__text text = gc__slot_text(options, &live.slots.slot, question->offset);
            fprintf(question->to, "%s%s", joint, text.text);
        }
    }
    fputs(*joint ? ".\n" : "nothing.\n", question->to);
    for (uint32_t i = 0; i < options->variable_count; i++) {
        const gc_code_variable *variable = &options->variables[i];
        gc_stackmap_slot slot = variable->slot;
        if (variable->start > question->offset || question->offset >= variable->end) continue;
        uint32_t number = gc__question_slot(question, &slot);
        if (number != UINT32_MAX && gc__slot_is_live(&question->map, number, question->offset, question->kind))
            continue;
        gc__explain_place(question, variable);
    }
}

/* Why no collection sees the frame at the offset; returns the safe point to look at instead, 0 if there is none. */
GC__FN uint32_t gc__explain_no_stop(const gc__question *question) {
    uint32_t before, behind;
    FILE *to = question->to;
    gc__question_neighbours(question, &before, &behind);
    fprintf(to, "No thread is stopped at " GC__OFFSET ": the code there is partially interruptible", question->offset);
    if (question->offset < question->map.facts.prolog_bytes) fputs(", a part of the prolog", to);
    fputs(", where only calls are safe points. ", to);
    if (before)
        fprintf(to, "In the code, the last one before it returns to " GC__OFFSET "%s", before, behind ? ", " : ".\n");
    if (behind)
        fprintf(to, "%she next one %sto " GC__OFFSET ".\n", before ? "t" : "T", before ? "" : "in the code returns ",
                behind);
    if (!before && !behind) fputs("The method has none.\n", to);
    return behind ? behind : before;
}

/* What may happen at the offset. */
GC__FN void gc__explain_stop(const gc__question *question) {
    fputs(question->kind == GC_FRAME_INTERRUPTED
              ? "The code there is fully interruptible: a collection may come before each instruction.\n"
              : "The code there is partially interruptible: only calls are safe points.\n",
          question->to);
    if (question->kind == GC_FRAME_CALLER && question->map.facts.flags & GC_METHOD_REPORT_LEAF_ONLY)
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
    if (!question.is_stop) {
        uint32_t instead = gc__explain_no_stop(&question);
        if (!instead) return true;
        question = gc__question_at(&question, instead);
    }
    gc__life life = GC__LIFE_UNKNOWN;
    if (variable)
        life = gc__explain_variable(&question, variable);
    else
        gc__explain_all(&question);
    if (life != GC__LIFE_LIVE && question.offset == offset) gc__explain_stop(&question);
    if (life == GC__LIFE_ENDED)
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

/* What the map says of the last safe point before the use of a stale reference, where the slot that held it was left out. */
GC__FN void gc__code_print_use(uintptr_t pc) {
    const gc_code *code = gc_code_find((const void *)pc);
    if (!code) return;
    uint32_t at = (uint32_t)(pc - gc__code_start(code));
    fprintf(stderr, "gc.h:   the use is in compiled code: `%s` at +0x%x\n", gc__code_name(code), at);
    if (code->format) return;
    gc__live_cursor live;
    while (at && !gc__live_begin(&live, code->map, at, GC_FRAME_CALLER)) at--;
    if (!at) return;
    fprintf(stderr, "gc.h:   its map must name the slot that held the reference. Of the last safe point it says:\n");
    gc_stackmap_explain(code->map, at, NULL, stderr, NULL);
}

GC_API bool gc_code_explain(const void *pc, const char *variable, FILE *to, const gc_dump_options *options) {
    const gc_code *code = gc__code_with(pc);
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
